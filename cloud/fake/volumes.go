package fake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

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

// describe converts a volume of the fake to cloud.Volume.
func describe(v Volume) cloud.Volume {
	return cloud.Volume{
		Ref: cloud.VolumeRef{Region: v.Region, Zone: v.Zone, Handle: v.ID}, UID: v.UID, SizeBytes: v.SizeBytes,
	}
}
