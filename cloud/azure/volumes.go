package azure

import (
	"cmp"
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"github.com/shopfleet/shopfleet/cloud"
)

// DescribeVolume reads one.
func (a *account) DescribeVolume(ctx context.Context, ref cloud.VolumeRef) (cloud.Volume, error) {
	r := request{"DescribeVolume", typeDisks, "read"}
	where, err := a.locateID(r, typeDisks, ref.Handle)
	if err != nil {
		return cloud.Volume{}, err
	}
	disk, err := a.readDisk(ctx, r, where)
	if err != nil {
		return cloud.Volume{}, err
	}
	return a.toVolume(disk), nil
}

// EnsureVolume implements cloud.Volumes.
func (a *account) EnsureVolume(ctx context.Context, spec cloud.VolumeSpec) (cloud.Volume, error) {
	r := request{"EnsureVolume", typeDisks, "write"}
	from, err := a.locateID(r, typeSnapshots, spec.Snapshot.ID)
	if err != nil {
		return cloud.Volume{}, err
	}
	body, err := a.disk(r, spec)
	if err != nil {
		return cloud.Volume{}, err
	}
	name := attempted(spec.Name, spec.Attempt)
	body.Tags[cloud.TagName] = new(name)
	found, err := a.readDisk(ctx, r, located{a.group, name})
	if err == nil {
		return a.adoptDisk(r, found, body)
	}
	if cloud.ClassOf(err) != cloud.ClassNotFound {
		return cloud.Volume{}, err
	}
	source, _, err := a.readSnapshot(ctx, r, from)
	if err != nil {
		return cloud.Volume{}, err
	}
	least := sizeOf(source.Properties.DiskSizeBytes, source.Properties.DiskSizeGB)
	size := cmp.Or(spec.SizeBytes, least)
	if size < least {
		return cloud.Volume{}, r.refuse(cloud.ClassInvalid, "TooSmall", strconv.FormatInt(size, 10)+" bytes are less than the "+strconv.FormatInt(least, 10)+" of the snapshot")
	}
	inGiB := (size-1)/gib + 1
	if inGiB <= 0 || inGiB > math.MaxInt32 {
		return cloud.Volume{}, r.refuse(cloud.ClassInvalid, "TooLarge", strconv.FormatInt(size, 10)+" bytes are not a size that a disk can have")
	}
	body.Properties.DiskSizeGB = new(int32(inGiB))
	return a.createDisk(ctx, r, name, body)
}

// createDisk requests a disk and reads it. A disk that is accepted but not visible yet is
// returned as Creating, as requested.
func (a *account) createDisk(ctx context.Context, r request, name string, body armcompute.Disk) (cloud.Volume, error) {
	_, err := a.disks.BeginCreateOrUpdate(ctx, a.group, name, body, nil)
	failed := a.fail(r, err)
	if failed != nil && !takenOrUnderWay(failed) {
		return cloud.Volume{}, failed
	}
	found, err := a.readDisk(ctx, r, located{a.group, name})
	if err == nil {
		return a.adoptDisk(r, found, body)
	}
	if failed != nil {
		return cloud.Volume{}, failed
	}
	made := a.toVolume(body)
	made.Ref.Handle, made.Encrypted = a.id(typeDisks, name), true
	return made, nil
}

// adoptDisk returns a disk if it is the one that is wanted.
func (a *account) adoptDisk(r request, found, want armcompute.Disk) (cloud.Volume, error) {
	var zero cloud.Volume
	var source string
	got := a.toVolume(found)
	if data := found.Properties.CreationData; data != nil {
		source = deref(data.SourceResourceID)
	}
	switch {
	case got.Ref.Region != a.region:
		return zero, r.refuse(cloud.ClassConflict, codeNameTaken, "a disk of the name is in region "+got.Ref.Region)
	case !strings.EqualFold(source, deref(want.Properties.CreationData.SourceResourceID)):
		return zero, r.refuse(cloud.ClassConflict, codeNameTaken, "a disk of the name was made from something else")
	case !owner(fromTags(want.Tags)).Owns(got.Tags):
		return zero, r.refuse(cloud.ClassConflict, cloud.CodeForeign, "a disk of the name exists that this hub does not own")
	}
	return got, nil
}

// DeleteVolume deletes one that EnsureVolume made for the owner and nothing is attached to.
func (a *account) DeleteVolume(ctx context.Context, ref cloud.VolumeRef, owner cloud.Owner) error {
	r := request{"DeleteVolume", typeDisks, "delete"}
	where, err := a.locateID(r, typeDisks, ref.Handle)
	if err != nil {
		return err
	}
	found, err := a.readDisk(ctx, r, where)
	switch {
	case cloud.ClassOf(err) == cloud.ClassNotFound:
		return nil
	case err != nil:
		return err
	case !owner.Owns(fromTags(found.Tags)):
		return r.refuse(cloud.ClassDenied, cloud.CodeForeign, "the disk is not the owner's")
	case attached(found):
		return r.refuse(cloud.ClassInUse, "Attached", "a machine has the disk")
	}
	_, err = a.disks.BeginDelete(ctx, where.group, where.name, nil)
	if err = a.fail(r, err); cloud.ClassOf(err) == cloud.ClassNotFound {
		return nil
	}
	return err
}

// readDisk reads a disk, which always has properties.
func (a *account) readDisk(ctx context.Context, r request, where located) (armcompute.Disk, error) {
	r = r.reading(typeDisks)
	got, err := a.disks.Get(ctx, where.group, where.name, nil)
	if err != nil {
		failed := a.fail(r, err)
		if codeOf(failed) == codeGroupMissing && !strings.EqualFold(where.group, a.group) {
			// Not the account's group but the disk's own is gone, and the disk with it.
			return armcompute.Disk{}, r.refuse(cloud.ClassNotFound, codeGroupMissing, "the resource group of the disk is not there")
		}
		return armcompute.Disk{}, failed
	}
	if got.Properties == nil || got.ID == nil {
		return armcompute.Disk{}, r.refuse(cloud.ClassTransient, "InvalidAnswer", "the answer is not a disk")
	}
	return got.Disk, nil
}
