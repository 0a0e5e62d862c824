package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

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

// The means of checks, and what they need.
const (
	byRequest = "request"
	byDryRun  = "dry run"

	noVolume   = "there is no volume of a cluster to test it with"
	noSnapshot = "there is no snapshot of the hub to test it with"
)

// needed returns the permissions of a session, each with the reason why it may not be checked.
func needed() []cloud.PermissionCheck {
	return []cloud.PermissionCheck{
		{Permission: "ec2:DescribeVolumes"}, {Permission: "ec2:DescribeSnapshots"},
		{Permission: "ec2:CreateSnapshot", Unchecked: noVolume}, {Permission: "ec2:CreateTags", Unchecked: noVolume},
		{Permission: "ec2:CopySnapshot", Unchecked: noSnapshot}, {Permission: "ec2:DeleteSnapshot", Unchecked: noSnapshot, Deletion: true},
	}
}

// Preflight checks each permission with DryRun. EC2 authorizes a request by the tags of its
// resources: what needs a volume of a cluster, or a snapshot of the owner, is not checked if there
// is none.
func (c *client) Preflight(ctx context.Context, owner cloud.Owner) ([]cloud.PermissionCheck, error) {
	const op = "Preflight"
	p := preflight{op: op, results: map[string]cloud.PermissionCheck{}}
	volumes, err := c.ec2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{
		Filters: []types.Filter{{Name: aws.String("tag-key"), Values: tagsOfClusters()}}, MaxResults: aws.Int32(pageSize),
	})
	p.took("ec2:DescribeVolumes", byRequest, err)
	snapshots, err := c.ec2.DescribeSnapshots(ctx, &ec2.DescribeSnapshotsInput{
		OwnerIds: []string{"self"}, Filters: []types.Filter{tagFilter(cloud.TagHub, owner.Hub)}, MaxResults: aws.Int32(pageSize),
	})
	p.took("ec2:DescribeSnapshots", byRequest, err)
	if p.wrong == nil && volumes != nil && len(volumes.Volumes) > 0 {
		c.tryVolume(ctx, &p, volumes.Volumes[0], owner)
	}
	if p.wrong == nil && snapshots != nil && len(snapshots.Snapshots) > 0 {
		c.trySnapshots(ctx, &p, snapshots.Snapshots[0])
	}
	if p.wrong != nil {
		return nil, c.fail(op, read, p.wrong)
	}
	return p.checks(c.account.Keys[c.config.Region] != ""), nil
}

// tagsOfClusters returns the keys of the tags that mark volumes of clusters, by which the
// documented policy allows snapshots of them.
func tagsOfClusters() []string {
	return []string{"ebs.csi.aws.com/cluster", "eks:eks-cluster-name", "kubernetes.io/created-for/pvc/name"}
}

// tryVolume checks the permissions for a volume with DryRun.
func (c *client) tryVolume(ctx context.Context, p *preflight, v types.Volume, owner cloud.Owner) {
	_, err := c.ec2.CreateSnapshot(ctx, &ec2.CreateSnapshotInput{
		VolumeId: v.VolumeId, DryRun: aws.Bool(true),
		TagSpecifications: tagged(cloud.Tags{cloud.TagHub: owner.Hub}),
	})
	p.tookTagged("ec2:CreateSnapshot", err)
}

// trySnapshots checks the permissions for a snapshot of the owner with DryRun.
func (c *client) trySnapshots(ctx context.Context, p *preflight, s types.Snapshot) {
	tags := cloud.Tags{cloud.TagHub: tagsOf(s.Tags)[cloud.TagHub]}
	_, err := c.ec2.CopySnapshot(ctx, &ec2.CopySnapshotInput{
		SourceRegion: aws.String(c.config.Region), SourceSnapshotId: s.SnapshotId, Encrypted: aws.Bool(true), DryRun: aws.Bool(true),
		TagSpecifications: tagged(tags),
	})
	p.tookTagged("ec2:CopySnapshot", err)
	if p.wrong == nil {
		_, err = c.ec2.DeleteSnapshot(ctx, &ec2.DeleteSnapshotInput{SnapshotId: s.SnapshotId, DryRun: aws.Bool(true)})
		p.took("ec2:DeleteSnapshot", byDryRun, err)
	}
}

// preflight collects the results of checks.
type preflight struct {
	op string
	// results are by permission. A denial is final.
	results map[string]cloud.PermissionCheck
	// wrong is an error that does not concern permissions; it ends the checks.
	wrong error
}

// checks returns a check of each permission; keys is true if the account has customer managed
// keys, which EC2 looks at only after it accepted a request.
func (p *preflight) checks(keys bool) []cloud.PermissionCheck {
	out := make([]cloud.PermissionCheck, 0, len(needed())+1)
	for _, check := range needed() {
		if result, made := p.results[check.Permission]; made {
			result.Deletion = check.Deletion
			check = result
		}
		out = append(out, check)
	}
	if keys {
		out = append(out, cloud.PermissionCheck{Permission: "kms:*", Scope: "the keys of spec.aws.keys", Unchecked: "a dry run does not use them"})
	}
	return out
}

// set adds a result, unless the permission is known to be denied.
func (p *preflight) set(check cloud.PermissionCheck) {
	if former, made := p.results[check.Permission]; !made || former.Granted || former.Unchecked != "" {
		p.results[check.Permission] = check
	}
}

// tookTagged records a dry run that sets tags: EC2 refuses it without ec2:CreateTags, so a
// granted one proves that permission too.
func (p *preflight) tookTagged(permission string, err error) {
	p.took(permission, byDryRun, err)
	if p.results[permission].Granted {
		p.set(cloud.PermissionCheck{Permission: "ec2:CreateTags", Granted: true, By: byDryRun})
	}
}

// took records the result of a check. A request that was refused for another reason than
// a permission gives no result.
func (p *preflight) took(permission, by string, err error) {
	if p.wrong != nil {
		return
	}
	var api smithy.APIError
	dry := errors.As(err, &api) && api.ErrorCode() == "DryRunOperation"
	if err == nil || dry {
		p.set(cloud.PermissionCheck{Permission: permission, Granted: true, By: by})
		return
	}
	switch e := classify(p.op, read, err); e.Class {
	case cloud.ClassDenied:
		// It may name another permission, such as ec2:CreateTags for an object with tags.
		denied := permission
		if strings.HasPrefix(e.Code, "ec2:") {
			denied = e.Code
		}
		p.set(cloud.PermissionCheck{Permission: denied, By: by})
		if denied != permission {
			p.set(cloud.PermissionCheck{Permission: permission, Unchecked: "it needs " + denied})
		}
	case cloud.ClassTransient, cloud.ClassThrottled, cloud.ClassAuthExpired:
		p.wrong = err
	default:
		p.set(cloud.PermissionCheck{Permission: permission, Unchecked: "the test was refused: " + cmp.Or(e.Code, string(e.Class))})
	}
}
