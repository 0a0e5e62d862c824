package gcp

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/googleapis/gax-go/v2"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/gcp/apierror"
)

type volumes struct{ session *session }

// DescribeVolume reads a disk.
func (v volumes) DescribeVolume(ctx context.Context, ref cloud.VolumeRef) (cloud.Volume, error) {
	const op = "DescribeVolume"
	at, err := v.session.place(op, ref)
	if err != nil {
		return cloud.Volume{}, err
	}
	found, _, err := v.session.disk(ctx, op, at)
	if err != nil {
		return cloud.Volume{}, err
	}
	return volume(found, cloud.VolumeRef{Region: at.region, Zone: at.zone, Handle: ref.Handle}), nil
}

// disk reads a disk.
func (s *session) disk(ctx context.Context, op string, at location) (*computepb.Disk, apierror.Answer, error) {
	if at.zone == "" {
		return do(ctx, s, call[*compute.RegionDisksClient, *computepb.Disk]{
			op: op, client: compute.NewRegionDisksRESTClient,
			send: func(ctx context.Context, c *compute.RegionDisksClient, o ...gax.CallOption) (*computepb.Disk, error) {
				return c.Get(ctx, &computepb.GetRegionDiskRequest{Project: s.project, Region: at.region, Disk: at.name}, o...)
			},
		})
	}
	return do(ctx, s, call[*compute.DisksClient, *computepb.Disk]{
		op: op, client: compute.NewDisksRESTClient,
		send: func(ctx context.Context, c *compute.DisksClient, o ...gax.CallOption) (*computepb.Disk, error) {
			return c.Get(ctx, &computepb.GetDiskRequest{Project: s.project, Zone: at.zone, Disk: at.name}, o...)
		},
	})
}

// volume converts a disk to cloud.Volume.
func volume(in *computepb.Disk, ref cloud.VolumeRef) cloud.Volume {
	out := cloud.Volume{
		Ref: ref, UID: fmt.Sprint(in.GetId()), State: cloud.StateCreating, SizeBytes: in.GetSizeGb() * gib, Encrypted: true,
		Type: tail(in.GetType()), IOPS: in.GetProvisionedIops(), Throughput: in.GetProvisionedThroughput(),
		Attached: len(in.GetUsers()) > 0, Tags: decode(in.GetLabels(), in.GetDescription()),
	}
	switch in.GetStatus() {
	case "READY":
		out.State = cloud.StateReady
	case "FAILED":
		out.State, out.Message = cloud.StateFailed, "Google Cloud does not say why; its operations may"
	case "DELETING":
		out.State = cloud.StateDeleting
	}
	return out
}

// EnsureVolume implements cloud.Volumes.
func (v volumes) EnsureVolume(ctx context.Context, spec cloud.VolumeSpec) (cloud.Volume, error) {
	const op = "EnsureVolume"
	w, err := v.want(op, spec)
	if err != nil {
		return cloud.Volume{}, err
	}
	found, _, err := v.session.disk(ctx, op, w.location)
	if cloud.ClassOf(err) != cloud.ClassNotFound {
		return v.adopt(w, found, err)
	}
	source, err := snapshots(v).get(ctx, op, w.snapshot)
	if err != nil {
		return cloud.Volume{}, err
	}
	size := sizeGB(max(spec.SizeBytes, 0))
	if size == 0 {
		size = source.SizeBytes / gib
	}
	if size*gib < source.SizeBytes {
		return cloud.Volume{}, refuse(op, cloud.ClassInvalid, "a disk of %d GiB is smaller than snapshot %q of %d GiB", size, w.snapshot, source.SizeBytes/gib)
	}
	w.body.SizeGb = new(size)
	started, err := v.insert(ctx, op, w)
	switch cloud.ClassOf(err) {
	case "":
		return v.inserted(ctx, op, w, started)
	case cloud.ClassConflict:
		found, _, err := v.session.disk(ctx, op, w.location)
		if cloud.ClassOf(err) == cloud.ClassNotFound {
			return cloud.Volume{}, refuseCode(op, cloud.ClassAmbiguous, codeNotVisible, "the name %q is taken by what is not shown yet", w.name)
		}
		return v.adopt(w, found, err)
	default:
		return cloud.Volume{}, err
	}
}

// wantedDisk is a disk that there should be.
type wantedDisk struct {
	spec cloud.VolumeSpec
	location
	// snapshot is the name of the one that it is made from.
	snapshot string
	body     *computepb.Disk
}

func (w wantedDisk) ref(project string) cloud.VolumeRef {
	return cloud.VolumeRef{Region: w.region, Zone: w.zone, Handle: w.path(project)}
}

func (v volumes) want(op string, spec cloud.VolumeSpec) (wantedDisk, error) {
	w := wantedDisk{spec: spec}
	name, err := attemptName(op, spec.Name, spec.Attempt)
	if err != nil {
		return w, err
	}
	if w.snapshot, err = v.session.snapshotName(op, spec.Snapshot); err != nil {
		return w, err
	}
	switch {
	case spec.Zone == "":
		return w, refuse(op, cloud.ClassUnsupported, "disk %q has no zone, and regional disks are not made", name)
	case !matches(`^`+namePattern+`$`, spec.Zone) || regionOf(spec.Zone) != v.session.region:
		return w, refuse(op, cloud.ClassInvalid, "zone %q is not in region %q", spec.Zone, v.session.region)
	case spec.Tags[cloud.TagHub] == "":
		return w, refuse(op, cloud.ClassInvalid, "disk %q has no tag %s", name, cloud.TagHub)
	}
	w.location = location{region: v.session.region, zone: spec.Zone, name: name}
	labels, description, err := encode(op, spec.Tags.With(cloud.Tags{cloud.TagName: name}))
	if err != nil {
		return w, err
	}
	w.body = &computepb.Disk{
		Name: new(name), Labels: labels, Description: new(description), SourceSnapshot: new(v.session.snapshotID(w.snapshot)),
	}
	return w, v.session.asClass(op, w.body, spec)
}

// asClass sets the fields of a disk from the parameters of a StorageClass of Google's
// driver.
func (s *session) asClass(op string, body *computepb.Disk, spec cloud.VolumeSpec) error {
	kind := "pd-standard" // The driver's default.
	for key, value := range spec.Class {
		var err error
		switch key := strings.ToLower(key); {
		case strings.HasPrefix(key, "csi.storage.k8s.io/"), key == "replication-type" && value == "none":
		case key == "type":
			kind = value
		case key == "disk-encryption-kms-key":
			if value != "" {
				body.DiskEncryptionKey = &computepb.CustomerEncryptionKey{KmsKeyName: new(value)}
			}
		case key == "provisioned-iops-on-create":
			body.ProvisionedIops, err = amount(value)
		case key == "provisioned-throughput-on-create":
			body.ProvisionedThroughput, err = amount(strings.TrimSuffix(value, "Mi"))
		default:
			return refuse(op, cloud.ClassUnsupported, "a disk like a class with parameter %s: %q cannot be made", key, value)
		}
		if err != nil {
			return refuse(op, cloud.ClassInvalid, "parameter %s of the class is %q: give a number", key, value)
		}
	}
	if !matches(`^[a-z][a-z0-9-]{0,62}$`, kind) {
		return refuse(op, cloud.ClassInvalid, "parameter type of the class is %q: give a type of disk", kind)
	}
	body.Type = new("projects/" + s.project + "/zones/" + spec.Zone + "/diskTypes/" + kind)
	return nil
}

func amount(text string) (*int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return nil, strconv.ErrSyntax
	}
	return new(n), nil
}

// adopt returns a disk that was found, if it is the one that is wanted.
func (v volumes) adopt(w wantedDisk, found *computepb.Disk, err error) (cloud.Volume, error) {
	const op = "EnsureVolume"
	if err != nil {
		return cloud.Volume{}, err
	}
	out := volume(found, w.ref(v.session.project))
	owner := cloud.Owner{Hub: w.spec.Tags[cloud.TagHub], App: w.spec.Tags[cloud.TagApp]}
	switch {
	case !owner.Owns(out.Tags):
		return cloud.Volume{}, refuse(op, cloud.ClassConflict, "disk %q is not ours", w.name)
	case pathOf(found.GetSourceSnapshot()) != v.session.snapshotID(w.snapshot):
		return cloud.Volume{}, refuse(op, cloud.ClassConflict, "disk %q is of %q, not of snapshot %q", w.name, found.GetSourceSnapshot(), w.snapshot)
	default:
		return out, nil
	}
}

func (v volumes) insert(ctx context.Context, op string, w wantedDisk) (*computepb.Operation, error) {
	started, _, err := do(ctx, v.session, call[*compute.DisksClient, *compute.Operation]{
		op: op, mutates: true, makes: true, client: compute.NewDisksRESTClient,
		send: func(ctx context.Context, c *compute.DisksClient, o ...gax.CallOption) (*compute.Operation, error) {
			return c.Insert(ctx, &computepb.InsertDiskRequest{
				Project: v.session.project, Zone: w.zone, DiskResource: w.body, RequestId: new(v.session.requestID("insert", w.path(v.session.project))),
			}, o...)
		},
	})
	if err != nil {
		return nil, err
	}
	return started.Proto(), nil
}

// inserted returns the disk that an accepted request makes; see snapshots.inserted.
func (v volumes) inserted(ctx context.Context, op string, w wantedDisk, started *computepb.Operation) (cloud.Volume, error) {
	made := cloud.Volume{
		Ref: w.ref(v.session.project), UID: fmt.Sprint(started.GetTargetId()), State: cloud.StateCreating, SizeBytes: w.body.GetSizeGb() * gib, Encrypted: true,
		Type: tail(w.body.GetType()), IOPS: w.body.GetProvisionedIops(), Throughput: w.body.GetProvisionedThroughput(),
		Tags: w.spec.Tags.With(cloud.Tags{cloud.TagName: w.name}),
	}
	found, _, err := v.session.disk(ctx, op, w.location)
	if err == nil {
		return v.adopt(w, found, nil)
	}
	if cloud.ClassOf(err) != cloud.ClassNotFound {
		return made, nil
	}
	failed := v.session.failed(ctx, op, w.location, started)
	switch {
	case failed == nil:
		return made, nil
	case failed.Class == "":
		made.State, made.Message = cloud.StateFailed, failed.Code+": "+failed.Message
		return made, nil
	default:
		return cloud.Volume{}, failed
	}
}

// DeleteVolume deletes a disk that EnsureVolume made for the owner and nothing uses.
func (v volumes) DeleteVolume(ctx context.Context, ref cloud.VolumeRef, owner cloud.Owner) error {
	const op = "DeleteVolume"
	at, err := v.session.place(op, ref)
	if err != nil {
		return err
	}
	found, _, err := v.session.disk(ctx, op, at)
	if cloud.ClassOf(err) == cloud.ClassNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	switch out := volume(found, ref); {
	case !owner.Owns(out.Tags):
		return refuseCode(op, cloud.ClassDenied, cloud.CodeForeign, "disk %q is not ours", at.name)
	case at.zone == "":
		return refuse(op, cloud.ClassUnsupported, "disk %q is regional, and none such is made", at.name)
	case out.Attached:
		return refuse(op, cloud.ClassInUse, "disk %q is attached to a machine", at.name)
	}
	_, _, err = do(ctx, v.session, call[*compute.DisksClient, *compute.Operation]{
		op: op, mutates: true, client: compute.NewDisksRESTClient,
		send: func(ctx context.Context, c *compute.DisksClient, o ...gax.CallOption) (*compute.Operation, error) {
			return c.Delete(ctx, &computepb.DeleteDiskRequest{
				Project: v.session.project, Zone: at.zone, Disk: at.name, RequestId: new(v.session.requestID("delete", at.path(v.session.project))),
			}, o...)
		},
	})
	if cloud.ClassOf(err) == cloud.ClassNotFound {
		return nil
	}
	return err
}
