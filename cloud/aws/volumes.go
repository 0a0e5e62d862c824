package aws

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/shopfleet/shopfleet/cloud"
)

// tagAttachable is the tag that the EBS CSI driver's policy requires to attach a volume.
const tagAttachable = "ebs.csi.aws.com/cluster"

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

// EnsureVolume implements cloud.Volumes.
func (c *client) EnsureVolume(ctx context.Context, spec cloud.VolumeSpec) (cloud.Volume, error) {
	const op = "EnsureVolume"
	snapshot, err := c.snapshotID(op, spec.Snapshot)
	if err != nil {
		return cloud.Volume{}, err
	}
	owner := ownerOf(spec.Tags)
	if spec.Zone == "" || spec.Name == "" || owner.Hub == "" {
		return cloud.Volume{}, refusal(op, cloud.ClassInvalid, "Spec", "a name, a zone and the tag "+cloud.TagHub+" are required")
	}
	name := attempted(spec.Name, spec.Attempt)
	found, err := c.namedVolume(ctx, name, owner)
	if err != nil {
		return cloud.Volume{}, err
	}
	if found != nil {
		return c.adoptVolume(*found, spec)
	}
	source, err := c.getSnapshot(ctx, op, spec.Snapshot)
	if err != nil {
		return cloud.Volume{}, err
	}
	if source.State == cloud.StateTaken || source.State == cloud.StateCreating {
		return cloud.Volume{}, refusal(op, cloud.ClassTransient, "NotReady", fmt.Sprintf("snapshot %q is not ready yet", snapshot))
	}
	in, err := c.shape(spec, source)
	if err != nil {
		return cloud.Volume{}, err
	}
	in.ClientToken = aws.String(name)
	in.TagSpecifications = tagged(types.ResourceTypeVolume, spec.Tags.With(cloud.Tags{cloud.TagName: name, tagAttachable: "true"}))
	out, err := c.ec2.CreateVolume(ctx, in)
	if err != nil {
		return cloud.Volume{}, c.fail(op, change, err)
	}
	return c.volumeOf(types.Volume{
		VolumeId: out.VolumeId, AvailabilityZone: out.AvailabilityZone, State: out.State, Size: out.Size, Encrypted: out.Encrypted,
		VolumeType: out.VolumeType, Iops: out.Iops, Throughput: out.Throughput, Attachments: out.Attachments, Tags: out.Tags,
	}), nil
}

// namedVolume returns the volume of a name that a hub owns; nil if there is none. If
// there are several, as in an emulator without client tokens, it returns the oldest.
func (c *client) namedVolume(ctx context.Context, name string, owner cloud.Owner) (*types.Volume, error) {
	const op = "EnsureVolume"
	in := &ec2.DescribeVolumesInput{
		Filters: []types.Filter{tagFilter(cloud.TagName, name), tagFilter(cloud.TagHub, owner.Hub)}, MaxResults: aws.Int32(pageSize),
	}
	var found []types.Volume
	for range maxLook {
		out, err := c.ec2.DescribeVolumes(ctx, in)
		if err != nil {
			return nil, c.fail(op, read, err)
		}
		found = append(found, out.Volumes...)
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	found = slices.DeleteFunc(found, func(v types.Volume) bool { return volumeState(v.State) == cloud.StateDeleting })
	if len(found) == 0 {
		return nil, nil
	}
	oldest := slices.MinFunc(found, func(a, b types.Volume) int {
		return cmp.Or(aws.ToTime(a.CreateTime).Compare(aws.ToTime(b.CreateTime)), cmp.Compare(aws.ToString(a.VolumeId), aws.ToString(b.VolumeId)))
	})
	return &oldest, nil
}

// adoptVolume returns the volume found if it matches the specification.
func (c *client) adoptVolume(found types.Volume, spec cloud.VolumeSpec) (cloud.Volume, error) {
	out := c.volumeOf(found)
	if aws.ToString(found.SnapshotId) != spec.Snapshot.ID || out.Ref.Zone != spec.Zone || !ownerOf(spec.Tags).Owns(out.Tags) {
		return cloud.Volume{}, refusal("EnsureVolume", cloud.ClassConflict, "NameTaken",
			fmt.Sprintf("volume %q has the name and is of snapshot %q in %q, or another application's", out.Ref.Handle, aws.ToString(found.SnapshotId), out.Ref.Zone))
	}
	return out, nil
}

// DeleteVolume deletes one that the owner has and nothing is attached to.
func (c *client) DeleteVolume(ctx context.Context, ref cloud.VolumeRef, owner cloud.Owner) error {
	const op = "DeleteVolume"
	id, err := c.volumeID(op, ref)
	if err != nil {
		return err
	}
	found, err := c.describeVolume(ctx, op, id)
	switch {
	case gone(err):
		return nil
	case err != nil:
		return err
	case !owner.Owns(found.Tags):
		return foreign(op, id)
	case found.State == cloud.StateDeleting:
		return nil
	case found.Attached:
		return refusal(op, cloud.ClassInUse, "VolumeInUse", fmt.Sprintf("volume %q is attached", id))
	}
	if _, err = c.ec2.DeleteVolume(ctx, &ec2.DeleteVolumeInput{VolumeId: aws.String(id)}); err == nil {
		return nil
	}
	if err := c.fail(op, change, err); !gone(err) {
		return err
	}
	return nil
}
