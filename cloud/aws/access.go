package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/shopfleet/shopfleet/cloud"
)

// codeWrongAccount is the code of credentials that are another account's than spec.aws.accountID.
const codeWrongAccount = "WrongAccount"

// Identity returns the identity of the credentials. Another account than the
// CloudAccount's is Denied with code WrongAccount.
func (c *client) Identity(ctx context.Context) (cloud.Identity, error) {
	const op = "Identity"
	out, err := c.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return cloud.Identity{}, c.fail(op, read, err)
	}
	who := cloud.Identity{Name: aws.ToString(out.Arn), Account: aws.ToString(out.Account)}
	if who.Account != c.account.AccountID {
		return who, refusal(op, cloud.ClassDenied, codeWrongAccount,
			fmt.Sprintf("the credentials are those of account %q, and spec.aws.accountID is %q", who.Account, c.account.AccountID))
	}
	return who, nil
}

// Preflight checks each permission with DryRun. Permissions that depend on tags are
// checked with a volume of the EBS CSI driver and a snapshot and a volume of the owner,
// and omitted if there are none.
func (c *client) Preflight(ctx context.Context, owner cloud.Owner) ([]cloud.PermissionCheck, error) {
	const op = "Preflight"
	p := preflight{op: op}
	volumes, err := c.ec2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{
		Filters: []types.Filter{tagFilter(tagAttachable, "true")}, MaxResults: aws.Int32(pageSize),
	})
	p.took("ec2:DescribeVolumes", err)
	snapshots, err := c.ec2.DescribeSnapshots(ctx, &ec2.DescribeSnapshotsInput{
		OwnerIds: []string{"self"}, Filters: []types.Filter{tagFilter(cloud.TagHub, owner.Hub)}, MaxResults: aws.Int32(pageSize),
	})
	p.took("ec2:DescribeSnapshots", err)
	if p.wrong == nil && volumes != nil && len(volumes.Volumes) > 0 {
		c.tryVolumes(ctx, &p, volumes.Volumes, owner)
	}
	if p.wrong == nil && snapshots != nil && len(snapshots.Snapshots) > 0 {
		zone := ""
		if volumes != nil && len(volumes.Volumes) > 0 {
			zone = aws.ToString(volumes.Volumes[0].AvailabilityZone)
		}
		c.trySnapshots(ctx, &p, snapshots.Snapshots[0], zone)
	}
	if p.wrong != nil {
		return nil, c.fail(op, read, p.wrong)
	}
	return p.checks, nil
}

// tryVolumes checks the permissions for volumes with DryRun.
func (c *client) tryVolumes(ctx context.Context, p *preflight, volumes []types.Volume, owner cloud.Owner) {
	_, err := c.ec2.CreateSnapshot(ctx, &ec2.CreateSnapshotInput{
		VolumeId: volumes[0].VolumeId, DryRun: aws.Bool(true),
		TagSpecifications: tagged(types.ResourceTypeSnapshot, cloud.Tags{cloud.TagHub: owner.Hub}),
	})
	p.took("ec2:CreateSnapshot", err)
	for _, v := range volumes {
		if p.wrong == nil && owner.Owns(tagsOf(v.Tags)) {
			_, err := c.ec2.DeleteVolume(ctx, &ec2.DeleteVolumeInput{VolumeId: v.VolumeId, DryRun: aws.Bool(true)})
			p.took("ec2:DeleteVolume", err)
			return
		}
	}
}

// trySnapshots checks the permissions for a snapshot of the owner with DryRun.
func (c *client) trySnapshots(ctx context.Context, p *preflight, s types.Snapshot, zone string) {
	tags := cloud.Tags{cloud.TagHub: tagsOf(s.Tags)[cloud.TagHub]}
	_, err := c.ec2.CopySnapshot(ctx, &ec2.CopySnapshotInput{
		SourceRegion: aws.String(c.config.Region), SourceSnapshotId: s.SnapshotId, Encrypted: aws.Bool(true), DryRun: aws.Bool(true),
		TagSpecifications: tagged(types.ResourceTypeSnapshot, tags),
	})
	p.took("ec2:CopySnapshot", err)
	if p.wrong == nil && zone != "" {
		_, err = c.ec2.CreateVolume(ctx, &ec2.CreateVolumeInput{
			AvailabilityZone: aws.String(zone), SnapshotId: s.SnapshotId, VolumeType: types.VolumeType(defaultType), DryRun: aws.Bool(true),
			TagSpecifications: tagged(types.ResourceTypeVolume, tags.With(cloud.Tags{tagAttachable: "true"})),
		})
		p.took("ec2:CreateVolume", err)
	}
	if p.wrong == nil {
		_, err = c.ec2.DeleteSnapshot(ctx, &ec2.DeleteSnapshotInput{SnapshotId: s.SnapshotId, DryRun: aws.Bool(true)})
		p.took("ec2:DeleteSnapshot", err)
	}
}

// preflight collects the results of checks.
type preflight struct {
	op     string
	checks []cloud.PermissionCheck
	// wrong is an error that does not concern permissions; it ends the checks.
	wrong error
}

// took records the result of a check. A request that was refused for another reason than
// a permission gives no result.
func (p *preflight) took(permission string, err error) {
	if p.wrong != nil {
		return
	}
	var api smithy.APIError
	dry := errors.As(err, &api) && api.ErrorCode() == "DryRunOperation"
	if err == nil || dry {
		p.checks = append(p.checks, cloud.PermissionCheck{Permission: permission, Granted: true})
		return
	}
	switch e := classify(p.op, read, err); e.Class {
	case cloud.ClassDenied:
		// It may name another permission, such as ec2:CreateTags for an object with tags.
		p.checks = append(p.checks, cloud.PermissionCheck{Permission: cmp.Or(e.Code, permission)})
	case cloud.ClassTransient, cloud.ClassThrottled, cloud.ClassAuthExpired:
		p.wrong = err
	default:
	}
}
