package azure

import (
	"context"
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
