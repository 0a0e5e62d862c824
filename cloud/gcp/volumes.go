package gcp

import (
	"context"
	"fmt"

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
	return cloud.Volume{
		Ref: cloud.VolumeRef{Region: at.region, Zone: at.zone, Handle: ref.Handle}, UID: fmt.Sprint(found.GetId()), SizeBytes: found.GetSizeGb() * gib,
	}, nil
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
