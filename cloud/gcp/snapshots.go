package gcp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/googleapis/gax-go/v2"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/gcp/apierror"
)

// pageSize is the number of items per page, Google's maximum.
const pageSize = 500

type snapshots struct{ session *session }

// EnsureSnapshot implements cloud.Snapshots.
func (s snapshots) EnsureSnapshot(ctx context.Context, spec cloud.SnapshotSpec) (cloud.Snapshot, error) {
	const op = "EnsureSnapshot"
	w, err := s.want(op, spec)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	found, err := s.get(ctx, op, w.name)
	if cloud.ClassOf(err) != cloud.ClassNotFound {
		return s.adopt(w, found, err)
	}
	if !spec.MaySend {
		return cloud.Snapshot{}, refuseCode(op, cloud.ClassAmbiguous, codeNotVisible, "there is no snapshot %q yet, and none may be asked for", w.name)
	}
	disk, _, err := s.session.disk(ctx, op, w.location)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	uid := fmt.Sprint(disk.GetId())
	if w.uid != "" && w.uid != uid {
		return cloud.Snapshot{}, refuse(op, cloud.ClassConflict, "the disk %q was made again: it is %s, not %s", w.path, uid, w.uid)
	}
	w.uid, w.key = uid, s.key(w, disk)
	started, err := s.insert(ctx, op, w)
	switch cloud.ClassOf(err) {
	case "":
		return s.inserted(ctx, op, w, started)
	case cloud.ClassConflict:
		found, err := s.get(ctx, op, w.name)
		if cloud.ClassOf(err) == cloud.ClassNotFound {
			return cloud.Snapshot{}, refuseCode(op, cloud.ClassAmbiguous, codeNotVisible, "the name %q is taken by what is not shown yet", w.name)
		}
		return s.adopt(w, found, err)
	case cloud.ClassInvalid:
		if e, ok := errors.AsType[*cloud.Error](err); ok {
			e.Message += w.ofKey()
		}
		return cloud.Snapshot{}, err
	default:
		return cloud.Snapshot{}, err
	}
}

// wanted describes a snapshot that should exist.
type wanted struct {
	spec cloud.SnapshotSpec
	name string
	location
	// path and uid are the disk's.
	path, uid string
	// key encrypts the snapshot; empty is the key of the disk.
	key string
}

// key returns the account's key for the location of a snapshot. Google Cloud refuses a key for
// the snapshot of a disk that has none:
// https://cloud.google.com/compute/docs/disks/customer-managed-encryption.
func (s snapshots) key(w wanted, disk *computepb.Disk) string {
	if len(w.spec.Locations) == 0 || disk.GetDiskEncryptionKey().GetKmsKeyName() == "" {
		return ""
	}
	return string(s.session.keys[w.spec.Locations[0]])
}

// ofKey names the field of the account in a refusal that the key may cause.
func (w wanted) ofKey() string {
	if w.key == "" {
		return ""
	}
	return "; spec.gcp.keys." + w.spec.Locations[0] + " of the CloudAccount must be a key for that location, which the service agent of Compute Engine may use"
}

func (s snapshots) want(op string, spec cloud.SnapshotSpec) (wanted, error) {
	w := wanted{spec: spec, uid: spec.SourceUID}
	var err error
	if w.name, err = attemptName(op, spec.Name, spec.Attempt); err != nil {
		return w, err
	}
	if w.location, err = s.session.place(op, spec.Source); err != nil {
		return w, err
	}
	w.path = w.location.path(s.session.project)
	if spec.Tags[cloud.TagHub] == "" {
		return w, refuse(op, cloud.ClassInvalid, "snapshot %q has no tag %s", w.name, cloud.TagHub)
	}
	if len(spec.Locations) > 1 {
		return w, refuse(op, cloud.ClassUnsupported, "snapshot %q should be in %d locations: Google Cloud keeps one in one region or multi-region", w.name, len(spec.Locations))
	}
	return w, nil
}

// adopt returns a snapshot that was found, if it is the one that is wanted.
func (s snapshots) adopt(w wanted, found cloud.Snapshot, err error) (cloud.Snapshot, error) {
	const op = "EnsureSnapshot"
	owner := cloud.Owner{Hub: w.spec.Tags[cloud.TagHub], App: w.spec.Tags[cloud.TagApp]}
	switch {
	case err != nil:
		return cloud.Snapshot{}, err
	case found.SourceHandle != w.path:
		return cloud.Snapshot{}, refuse(op, cloud.ClassConflict, "snapshot %q is of %q, not of %q", w.name, found.SourceHandle, w.path)
	case w.uid != "" && found.Tags[cloud.TagVolume] != w.uid:
		return cloud.Snapshot{}, refuse(op, cloud.ClassConflict, "snapshot %q is of another disk that bore the name %q", w.name, w.path)
	case !owner.Owns(found.Tags):
		return cloud.Snapshot{}, refuse(op, cloud.ClassConflict, "snapshot %q is not ours", w.name)
	default:
		// PersistentVolumes that were migrated call the disk otherwise.
		found.SourceHandle = w.spec.Source.Handle
		return found, nil
	}
}

// insert requests a snapshot.
func (s snapshots) insert(ctx context.Context, op string, w wanted) (*computepb.Operation, error) {
	tags := w.spec.Tags.With(cloud.Tags{cloud.TagName: w.name, cloud.TagVolume: w.uid})
	labels, description, err := encode(op, tags)
	if err != nil {
		return nil, err
	}
	request := &computepb.InsertSnapshotRequest{
		Project: s.session.project, RequestId: new(s.session.requestID("insert", s.session.snapshotID(w.name))),
		SnapshotResource: &computepb.Snapshot{
			Name: new(w.name), SourceDisk: new(w.path), Description: new(description), Labels: labels,
			StorageLocations: w.spec.Locations, SnapshotType: new("STANDARD"),
		},
	}
	if w.key != "" {
		request.SnapshotResource.SnapshotEncryptionKey = &computepb.CustomerEncryptionKey{KmsKeyName: new(w.key)}
	}
	started, _, err := do(ctx, s.session, call[*compute.SnapshotsClient, *compute.Operation]{
		op: op, mutates: true, makes: true, client: compute.NewSnapshotsRESTClient,
		send: func(ctx context.Context, c *compute.SnapshotsClient, o ...gax.CallOption) (*compute.Operation, error) {
			return c.Insert(ctx, request, o...)
		},
	})
	if err != nil {
		return nil, err
	}
	return started.Proto(), nil
}

// inserted returns the snapshot of an accepted request, which may still fail: only its
// operation shows that. Whatever cannot be read now is read by the next call, since the
// snapshot was requested.
func (s snapshots) inserted(ctx context.Context, op string, w wanted, started *computepb.Operation) (cloud.Snapshot, error) {
	made := cloud.Snapshot{
		Ref: cloud.SnapshotRef{Region: s.session.region, ID: s.session.snapshotID(w.name)}, Name: w.name, State: cloud.StateCreating, Progress: -1,
		Encrypted: true, SourceHandle: w.spec.Source.Handle, Locations: w.spec.Locations,
		Tags: w.spec.Tags.With(cloud.Tags{cloud.TagName: w.name, cloud.TagVolume: w.uid}),
	}
	found, err := s.get(ctx, op, w.name)
	if err == nil {
		return s.adopt(w, found, nil)
	}
	if cloud.ClassOf(err) != cloud.ClassNotFound {
		return made, nil
	}
	failed := s.session.failed(ctx, op, started)
	switch {
	case failed == nil:
		return made, nil
	case failed.Class == "":
		made.State, made.Message = cloud.StateFailed, failed.Code+": "+failed.Message+w.ofKey()
		return made, nil
	default:
		return cloud.Snapshot{}, failed
	}
}

// EnsureCopy returns an error: a snapshot can be restored in every region and needs no copy.
func (s snapshots) EnsureCopy(_ context.Context, spec cloud.CopySpec) (cloud.Snapshot, error) {
	return cloud.Snapshot{}, refuse("EnsureCopy", cloud.ClassUnsupported, "snapshot %q is global: say in its locations where it is stored", spec.Source.ID)
}

// GetSnapshot implements cloud.Snapshots.
func (s snapshots) GetSnapshot(ctx context.Context, ref cloud.SnapshotRef) (cloud.Snapshot, error) {
	const op = "GetSnapshot"
	name, err := s.session.snapshotName(op, ref)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	return s.get(ctx, op, name)
}

func (s snapshots) get(ctx context.Context, op, name string) (cloud.Snapshot, error) {
	found, seen, err := do(ctx, s.session, call[*compute.SnapshotsClient, *computepb.Snapshot]{
		op: op, client: compute.NewSnapshotsRESTClient,
		send: func(ctx context.Context, c *compute.SnapshotsClient, o ...gax.CallOption) (*computepb.Snapshot, error) {
			return c.Get(ctx, &computepb.GetSnapshotRequest{Project: s.session.project, Snapshot: name}, o...)
		},
	})
	if err != nil {
		return cloud.Snapshot{}, err
	}
	out := s.session.snapshot(found)
	out.ObservedAt = seen.Date()
	if out.State == cloud.StateFailed {
		out.Message = s.session.whyFailed(ctx, op, found.GetId())
	}
	return out, nil
}

// snapshot converts a snapshot to cloud.Snapshot.
func (s *session) snapshot(in *computepb.Snapshot) cloud.Snapshot {
	out := cloud.Snapshot{
		Ref: cloud.SnapshotRef{Region: s.region, ID: s.snapshotID(in.GetName())}, Name: in.GetName(), State: cloud.StateCreating, Progress: -1,
		SizeBytes: in.GetDiskSizeGb() * gib,
		// Google encrypts all disks and snapshots, with its own key where none is named.
		Encrypted: true, SourceHandle: pathOf(in.GetSourceDisk()), Locations: in.GetStorageLocations(),
		Tags: decode(in.GetLabels(), in.GetDescription()),
	}
	// For a snapshot of a hub, use the ID of the disk that Google recorded.
	if out.Tags[cloud.TagHub] != "" && in.GetSourceDiskId() != "" {
		out.Tags[cloud.TagVolume] = in.GetSourceDiskId()
	}
	switch in.GetStatus() {
	case "UPLOADING":
		out.State = cloud.StateTaken
	case "READY":
		out.State, out.Progress = cloud.StateReady, 100
	case "FAILED":
		out.State = cloud.StateFailed
	case "DELETING":
		out.State = cloud.StateDeleting
	}
	if out.State != cloud.StateCreating {
		if at, err := time.Parse(time.RFC3339, in.GetCreationTimestamp()); err == nil {
			out.TakenAt = at.UTC()
		}
	}
	return out
}

// ListSnapshots lists the owner's snapshots in the project, whichever region
// they are stored in.
func (s snapshots) ListSnapshots(ctx context.Context, owner cloud.Owner) iter.Seq2[cloud.Snapshot, error] {
	const op = "ListSnapshots"
	return func(yield func(cloud.Snapshot, error) bool) {
		if owner.Hub == "" {
			yield(cloud.Snapshot{}, refuse(op, cloud.ClassInvalid, "an owner without a hub has nothing"))
			return
		}
		filter := fmt.Sprintf("labels.%s = %q", cloud.TagHub, label(owner.Hub))
		if owner.App != "" {
			filter = fmt.Sprintf("(%s) AND (labels.%s = %q)", filter, cloud.TagApp, label(owner.App))
		}
		for token := ""; ; {
			page, next, seen, err := s.page(ctx, op, filter, token)
			if err != nil {
				yield(cloud.Snapshot{}, err)
				return
			}
			for _, item := range page {
				found := s.session.snapshot(item)
				found.ObservedAt = seen.Date()
				if owner.Owns(found.Tags) && !yield(found, nil) {
					return
				}
			}
			if token = next; token == "" {
				return
			}
		}
	}
}

// page reads one page of a list.
func (s snapshots) page(ctx context.Context, op, filter, token string) ([]*computepb.Snapshot, string, apierror.Answer, error) {
	var items []*computepb.Snapshot
	next, seen, err := do(ctx, s.session, call[*compute.SnapshotsClient, string]{
		op: op, client: compute.NewSnapshotsRESTClient,
		send: func(ctx context.Context, c *compute.SnapshotsClient, o ...gax.CallOption) (string, error) {
			request := &computepb.ListSnapshotsRequest{Project: s.session.project, Filter: new(filter), MaxResults: new(uint32(pageSize))}
			if token != "" {
				request.PageToken = new(token)
			}
			all := c.List(ctx, request, o...)
			for more := true; more; more = all.PageInfo().Remaining() > 0 {
				item, err := all.Next()
				if done, err := finished(err); done || err != nil {
					return "", err
				}
				items = append(items, item)
			}
			return all.PageInfo().Token, nil
		},
	})
	return items, next, seen, err
}

// DeleteSnapshot deletes a snapshot that the owner has.
func (s snapshots) DeleteSnapshot(ctx context.Context, ref cloud.SnapshotRef, owner cloud.Owner) error {
	const op = "DeleteSnapshot"
	name, err := s.session.snapshotName(op, ref)
	if err != nil {
		return err
	}
	found, err := s.get(ctx, op, name)
	switch {
	case cloud.ClassOf(err) == cloud.ClassNotFound:
		return nil
	case err != nil:
		return err
	case !owner.Owns(found.Tags):
		return refuseCode(op, cloud.ClassDenied, cloud.CodeForeign, "snapshot %q is not ours", name)
	}
	_, _, err = do(ctx, s.session, call[*compute.SnapshotsClient, *compute.Operation]{
		op: op, mutates: true, client: compute.NewSnapshotsRESTClient,
		send: func(ctx context.Context, c *compute.SnapshotsClient, o ...gax.CallOption) (*compute.Operation, error) {
			return c.Delete(ctx, &computepb.DeleteSnapshotRequest{
				Project: s.session.project, Snapshot: name, RequestId: new(s.session.requestID("delete", ref.ID)),
			}, o...)
		},
	})
	if cloud.ClassOf(err) == cloud.ClassNotFound {
		return nil
	}
	return err
}
