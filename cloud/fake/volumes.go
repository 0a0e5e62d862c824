package fake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
)

// volumes implements cloud.Volumes.
type volumes struct{ *memory }

// DescribeVolume implements cloud.Volumes.
func (v volumes) DescribeVolume(ctx context.Context, ref cloud.VolumeRef) (cloud.Volume, error) {
	found, err := v.volume(ctx, "DescribeVolume", ref)
	if err != nil {
		return cloud.Volume{}, err
	}
	return describe(found), nil
}

func (m *memory) volume(ctx context.Context, method string, ref cloud.VolumeRef) (Volume, error) {
	return send(ctx, m, request{method, faults.OpDescribeVolume, ref.Handle}, func() (Volume, *cloud.Error) {
		found, ok := m.cloud.Volume(ref.Handle)
		if !ok || found.Account != m.Account || found.Region != m.Region {
			return Volume{}, notFound("volume " + ref.Handle)
		}
		return found, nil
	})
}

// Handle returns this provider's volume handle for a name. It is of EC2's form, so that
// a PersistentVolume can be written for it.
func Handle(account, zone, name string) string {
	sum := sha256.Sum256([]byte(account + "/" + zone + "/" + name))
	return "vol-" + hex.EncodeToString(sum[:])[:17]
}

// EnsureVolume implements cloud.Volumes.
func (v volumes) EnsureVolume(ctx context.Context, spec cloud.VolumeSpec) (cloud.Volume, error) {
	r := request{"EnsureVolume", faults.OpCreateVolume, spec.Name}
	name := attempted(spec.Name, spec.Attempt)
	ref := cloud.VolumeRef{Region: v.Region, Zone: spec.Zone, Handle: Handle(v.Account, spec.Zone, name)}
	found, err := v.volume(ctx, r.method, ref)
	if err == nil || cloud.ClassOf(err) != cloud.ClassNotFound {
		return v.restored(r, spec, found, err)
	}
	from, err := snapshots(v).get(ctx, r.method, spec.Snapshot)
	if err != nil {
		return cloud.Volume{}, err
	}
	volume, e := v.plan(spec, from)
	if e != nil {
		return cloud.Volume{}, v.fail(r, e)
	}
	volume.ID = ref.Handle
	volume.Tags = spec.Tags.With(cloud.Tags{cloud.TagName: name})
	made, err := send(ctx, v.memory, r, func() (Volume, *cloud.Error) {
		there, _ := v.cloud.NewVolume(volume)
		return there, nil
	})
	return v.restored(r, spec, made, err)
}

// plan returns the volume for a spec.
func (v volumes) plan(spec cloud.VolumeSpec, from Snapshot) (Volume, *cloud.Error) {
	switch {
	case from.State != cloud.StateReady:
		return Volume{}, &cloud.Error{Class: cloud.ClassTransient, Code: "NotReady", Message: fmt.Sprintf("%q is not ready", from.ID)}
	case spec.SizeBytes != 0 && spec.SizeBytes < from.SizeBytes:
		return Volume{}, &cloud.Error{Class: cloud.ClassInvalid, Code: "TooSmall", Message: fmt.Sprintf("%d bytes are less than the snapshot's %d", spec.SizeBytes, from.SizeBytes)}
	}
	volume := Volume{
		Account: v.Account, Region: v.Region, Zone: spec.Zone, SizeBytes: max(spec.SizeBytes, from.SizeBytes),
		Type: spec.Class["type"], Encrypted: spec.Class["encrypted"] == "true", From: from.ID,
	}
	for key, field := range map[string]*int64{"iops": &volume.IOPS, "throughput": &volume.Throughput} {
		text := spec.Class[key]
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return Volume{}, &cloud.Error{Class: cloud.ClassInvalid, Code: "BadParameter", Message: fmt.Sprintf("%s is %q, want a number", key, text), Err: err}
		}
		*field = n
	}
	return volume, nil
}

// restored returns a volume if it is the requested one.
func (v volumes) restored(r request, spec cloud.VolumeSpec, volume Volume, err error) (cloud.Volume, error) {
	owner := cloud.Owner{Hub: spec.Tags[cloud.TagHub], App: spec.Tags[cloud.TagApp]}
	switch {
	case err != nil:
		return cloud.Volume{}, err
	case volume.From != spec.Snapshot.ID || !owner.Owns(volume.Tags):
		return cloud.Volume{}, v.fail(r, conflict(spec.Name, "is the name of another volume"))
	}
	return describe(volume), nil
}

// DeleteVolume implements cloud.Volumes.
func (v volumes) DeleteVolume(ctx context.Context, ref cloud.VolumeRef, owner cloud.Owner) error {
	r := request{"DeleteVolume", faults.OpDeleteVolume, ref.Handle}
	found, err := v.volume(ctx, r.method, ref)
	switch {
	case cloud.ClassOf(err) == cloud.ClassNotFound:
		return nil
	case err != nil:
		return err
	case found.From == "" || !owner.Owns(found.Tags):
		return v.fail(r, foreign(ref.Handle))
	case found.Attached:
		return v.fail(r, &cloud.Error{Class: cloud.ClassInUse, Code: "Attached", Message: "the volume is attached"})
	}
	_, err = send(ctx, v.memory, r, func() (struct{}, *cloud.Error) {
		v.cloud.RemoveVolume(ref.Handle)
		return struct{}{}, nil
	})
	return err
}

// describe converts a volume of the fake to cloud.Volume.
func describe(v Volume) cloud.Volume {
	return cloud.Volume{
		Ref: cloud.VolumeRef{Region: v.Region, Zone: v.Zone, Handle: v.ID}, UID: v.UID, State: cloud.StateReady, SizeBytes: v.SizeBytes,
		Encrypted: v.Encrypted, Type: v.Type, IOPS: v.IOPS, Throughput: v.Throughput, Attached: v.Attached, Tags: v.Tags,
	}
}
