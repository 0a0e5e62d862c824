package driver

import (
	"context"
	"slices"
	"strconv"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

// snapshotNameTag has the name by which the driver finds a snapshot that it made.
const snapshotNameTag = "CSIVolumeSnapshotName"

// CreateSnapshot implements csi.ControllerServer.
func (d *Driver) CreateSnapshot(_ context.Context, r *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.GetName() == "" || r.GetSourceVolumeId() == "" {
		return nil, status.Error(codes.InvalidArgument, "the snapshot has no name or no source")
	}
	for _, s := range d.Driver.Cloud().Snapshots() {
		switch {
		case s.Tags[snapshotNameTag] != r.GetName():
		case s.Source != r.GetSourceVolumeId():
			return nil, status.Errorf(codes.AlreadyExists, "the snapshot %q exists, of another volume", r.GetName())
		default:
			return &csi.CreateSnapshotResponse{Snapshot: describeSnapshot(s)}, nil
		}
	}
	v, exists := d.Driver.Cloud().Volume(r.GetSourceVolumeId())
	if !exists {
		return nil, status.Errorf(codes.NotFound, "the volume %q does not exist", r.GetSourceVolumeId())
	}
	s := d.Cloud.snapshotOf(v, r.GetName())
	s.Source, s.SourceUID, s.SizeBytes, s.Encrypted, s.KMSKey = v.ID, v.UID, v.SizeBytes, v.Encrypted, v.KMSKey
	return &csi.CreateSnapshotResponse{Snapshot: describeSnapshot(d.Driver.Cloud().AddSnapshot(s))}, nil
}

// DeleteSnapshot implements csi.ControllerServer.
func (d *Driver) DeleteSnapshot(_ context.Context, r *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	if r.GetSnapshotId() == "" {
		return nil, status.Error(codes.InvalidArgument, "the snapshot has no ID")
	}
	s, err := d.Cloud.find(d.Driver.Cloud(), r.GetSnapshotId())
	switch {
	case status.Code(err) == codes.NotFound:
		return &csi.DeleteSnapshotResponse{}, nil
	case err != nil:
		return nil, err
	}
	if err := d.Cloud.mayDelete(s.ID, s.Tags); err != nil {
		return nil, err
	}
	if s.Locked || s.Used {
		return nil, status.Errorf(codes.FailedPrecondition, "the snapshot %q is locked or in use", s.ID)
	}
	d.Driver.Cloud().RemoveSnapshot(s.ID)
	return &csi.DeleteSnapshotResponse{}, nil
}

// ListSnapshots implements csi.ControllerServer. A handle that does not exist has an empty list: that is how
// csi-snapshotter finds out.
func (d *Driver) ListSnapshots(_ context.Context, r *csi.ListSnapshotsRequest) (*csi.ListSnapshotsResponse, error) {
	if id := r.GetSnapshotId(); id != "" {
		s, err := d.Cloud.find(d.Driver.Cloud(), id)
		switch {
		case status.Code(err) == codes.NotFound:
			return &csi.ListSnapshotsResponse{}, nil
		case err != nil:
			return nil, err
		}
		return listOf([]fake.Snapshot{s}), nil
	}
	found := slices.DeleteFunc(d.Driver.Cloud().Visible(), func(s fake.Snapshot) bool {
		_, err := d.Cloud.find(d.Driver.Cloud(), s.ID)
		return err != nil || r.GetSourceVolumeId() != "" && s.Source != r.GetSourceVolumeId()
	})
	first := 0
	if token := r.GetStartingToken(); token != "" {
		var err error
		if first, err = strconv.Atoi(token); err != nil || first < 0 || first > len(found) {
			return nil, status.Errorf(codes.Aborted, "the token %q is of no list", token)
		}
	}
	found = found[first:]
	size := int(r.GetMaxEntries())
	if size <= 0 || size >= len(found) {
		return listOf(found), nil
	}
	page := listOf(found[:size])
	page.NextToken = strconv.Itoa(first + size)
	return page, nil
}

func listOf(snapshots []fake.Snapshot) *csi.ListSnapshotsResponse {
	out := &csi.ListSnapshotsResponse{}
	for _, s := range snapshots {
		out.Entries = append(out.Entries, &csi.ListSnapshotsResponse_Entry{Snapshot: describeSnapshot(s)})
	}
	return out
}

func describeSnapshot(s fake.Snapshot) *csi.Snapshot {
	return &csi.Snapshot{
		SnapshotId: s.ID, SourceVolumeId: s.Source, SizeBytes: s.SizeBytes,
		CreationTime: timestamppb.New(s.Created), ReadyToUse: s.State == cloud.StateReady,
	}
}
