package aws

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/shopfleet/shopfleet/cloud"
)

// DescribeVolume reads one.
func (c *client) DescribeVolume(ctx context.Context, ref cloud.VolumeRef) (cloud.Volume, error) {
	const op = "DescribeVolume"
	id, err := c.volumeID(op, ref)
	if err != nil {
		return cloud.Volume{}, err
	}
	return c.describeVolume(ctx, op, id)
}

func (c *client) describeVolume(ctx context.Context, op, id string) (cloud.Volume, error) {
	out, err := c.ec2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{VolumeIds: []string{id}})
	if err != nil {
		return cloud.Volume{}, c.fail(op, read, err)
	}
	i := slices.IndexFunc(out.Volumes, func(v types.Volume) bool { return aws.ToString(v.VolumeId) == id })
	if i < 0 {
		return cloud.Volume{}, refusal(op, cloud.ClassNotFound, "InvalidVolume.NotFound", fmt.Sprintf("the answer has no volume %q", id))
	}
	return c.volumeOf(out.Volumes[i]), nil
}
