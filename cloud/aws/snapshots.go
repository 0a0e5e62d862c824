package aws

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/shopfleet/shopfleet/cloud"
)

const (
	// pageSize is the number of objects per page; EC2 allows 1000.
	pageSize = 1000
	// maxPages limits a list: an account has at most 100,000 snapshots in a region, and
	// pages may be incomplete.
	maxPages = 1000
	// maxLook limits the search for a name.
	maxLook = 4
)

// EnsureSnapshot implements cloud.Snapshots.
func (c *client) EnsureSnapshot(ctx context.Context, spec cloud.SnapshotSpec) (cloud.Snapshot, error) {
	const op = "EnsureSnapshot"
	volume, err := c.volumeID(op, spec.Source)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	name := attempted(spec.Name, spec.Attempt)
	found, err := c.named(ctx, op, name, ownerOf(spec.Tags))
	if err != nil {
		return cloud.Snapshot{}, err
	}
	if len(found) > 0 {
		return adopt(op, found, func(s cloud.Snapshot) bool {
			return s.SourceHandle == volume && s.Tags[cloud.TagCopyOf] == "" && ownerOf(spec.Tags).Owns(s.Tags) &&
				(spec.SourceUID == "" || s.Tags[cloud.TagVolume] == spec.SourceUID)
		})
	}
	if !spec.MaySend {
		return cloud.Snapshot{}, notVisible(op, name)
	}
	if _, err := c.describeVolume(ctx, op, volume); err != nil {
		return cloud.Snapshot{}, err
	}
	if spec.SourceUID != "" && spec.SourceUID != volume {
		return cloud.Snapshot{}, refusal(op, cloud.ClassConflict, "SourceUID", fmt.Sprintf("volume %q is another than %q", volume, spec.SourceUID))
	}
	out, err := c.ec2.CreateSnapshot(ctx, &ec2.CreateSnapshotInput{
		VolumeId: aws.String(volume), Description: aws.String("Shopfleet " + name),
		TagSpecifications: tagged(spec.Tags.With(cloud.Tags{cloud.TagName: name, cloud.TagVolume: volume})),
	})
	if err != nil {
		return cloud.Snapshot{}, c.fail(op, change, err)
	}
	return c.snapshotOf(types.Snapshot{
		SnapshotId: out.SnapshotId, State: out.State, StartTime: out.StartTime, Progress: out.Progress, VolumeSize: out.VolumeSize,
		Encrypted: out.Encrypted, VolumeId: out.VolumeId, Tags: out.Tags, StateMessage: out.StateMessage,
	}, out.ResultMetadata), nil
}

// EnsureCopy implements cloud.Snapshots.
func (c *client) EnsureCopy(ctx context.Context, spec cloud.CopySpec) (cloud.Snapshot, error) {
	const op = "EnsureCopy"
	if err := goodSnapshot(op, spec.Source.ID); err != nil {
		return cloud.Snapshot{}, err
	}
	if spec.Source.Region == "" {
		return cloud.Snapshot{}, refusal(op, cloud.ClassInvalid, "Region", "the region of the source is missing")
	}
	name := attempted(spec.Name, spec.Attempt)
	found, err := c.named(ctx, op, name, ownerOf(spec.Tags))
	if err != nil {
		return cloud.Snapshot{}, err
	}
	if len(found) > 0 {
		return adopt(op, found, func(s cloud.Snapshot) bool {
			return s.Tags[cloud.TagCopyOf] == spec.Source.ID && ownerOf(spec.Tags).Owns(s.Tags)
		})
	}
	if !spec.MaySend {
		return cloud.Snapshot{}, notVisible(op, name)
	}
	tags := spec.Tags.With(cloud.Tags{cloud.TagName: name, cloud.TagCopyOf: spec.Source.ID})
	in := &ec2.CopySnapshotInput{
		SourceRegion: aws.String(spec.Source.Region), SourceSnapshotId: aws.String(spec.Source.ID),
		Description: aws.String("Shopfleet " + name), Encrypted: aws.Bool(true),
		TagSpecifications: tagged(tags),
	}
	if key := c.account.Keys[c.config.Region]; key != "" {
		in.KmsKeyId = aws.String(string(key))
	}
	out, err := c.ec2.CopySnapshot(ctx, in)
	if err != nil {
		return cloud.Snapshot{}, c.fail(op, change, err)
	}
	made := c.snapshotOf(types.Snapshot{SnapshotId: out.SnapshotId, Encrypted: in.Encrypted}, out.ResultMetadata)
	made.Name, made.Tags, made.SourceHandle = name, tags, spec.Source.ID
	return made, nil
}

// named returns all snapshots of a name that a hub owns, the one to keep first: failed
// ones last, older ones first.
func (c *client) named(ctx context.Context, op, name string, owner cloud.Owner) ([]cloud.Snapshot, error) {
	if owner.Hub == "" || name == "" {
		return nil, refusal(op, cloud.ClassInvalid, "Owner", "a name and the tag "+cloud.TagHub+" are required")
	}
	var found []cloud.Snapshot
	for s, err := range c.pages(ctx, query{op: op, bound: maxLook, filters: []types.Filter{
		tagFilter(cloud.TagName, name), tagFilter(cloud.TagHub, owner.Hub),
	}}) {
		if err != nil {
			return nil, err
		}
		if s.State != cloud.StateDeleting {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b cloud.Snapshot) int {
		if failed := a.State == cloud.StateFailed; failed != (b.State == cloud.StateFailed) {
			if failed {
				return 1
			}
			return -1
		}
		return cmp.Or(a.TakenAt.Compare(b.TakenAt), cmp.Compare(a.Ref.ID, b.Ref.ID))
	})
	return found, nil
}

// adopt returns the first of the snapshots found, with the others as its duplicates, if
// all match the specification.
func adopt(op string, found []cloud.Snapshot, right func(cloud.Snapshot) bool) (cloud.Snapshot, error) {
	for _, s := range found {
		if !right(s) {
			return cloud.Snapshot{}, refusal(op, cloud.ClassConflict, "NameTaken",
				fmt.Sprintf("snapshot %q has the name %q and is of %q, or another application's", s.Ref.ID, s.Name, s.SourceHandle))
		}
	}
	out := found[0]
	for _, other := range found[1:] {
		out.Duplicates = append(out.Duplicates, other.Ref)
	}
	return out, nil
}

func notVisible(op, name string) error {
	return refusal(op, cloud.ClassAmbiguous, "NotVisible", fmt.Sprintf("%q is not to be seen yet, and may not be asked for again", name))
}

// GetSnapshot implements cloud.Snapshots.
func (c *client) GetSnapshot(ctx context.Context, ref cloud.SnapshotRef) (cloud.Snapshot, error) {
	return c.getSnapshot(ctx, "GetSnapshot", ref)
}

func (c *client) getSnapshot(ctx context.Context, op string, ref cloud.SnapshotRef) (cloud.Snapshot, error) {
	id, err := c.snapshotID(op, ref)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	out, err := c.ec2.DescribeSnapshots(ctx, &ec2.DescribeSnapshotsInput{SnapshotIds: []string{id}})
	if err != nil {
		return cloud.Snapshot{}, c.fail(op, read, err)
	}
	i := slices.IndexFunc(out.Snapshots, func(s types.Snapshot) bool { return aws.ToString(s.SnapshotId) == id })
	if i < 0 {
		return cloud.Snapshot{}, refusal(op, cloud.ClassNotFound, "InvalidSnapshot.NotFound", fmt.Sprintf("the answer has no snapshot %q", id))
	}
	return c.snapshotOf(out.Snapshots[i], out.ResultMetadata), nil
}

// ListSnapshots lists the owner's snapshots in the session's region.
func (c *client) ListSnapshots(ctx context.Context, owner cloud.Owner) iter.Seq2[cloud.Snapshot, error] {
	const op = "ListSnapshots"
	return func(yield func(cloud.Snapshot, error) bool) {
		if owner.Hub == "" {
			yield(cloud.Snapshot{}, refusal(op, cloud.ClassInvalid, "Owner", "the owner is missing"))
			return
		}
		filters := []types.Filter{tagFilter(cloud.TagHub, owner.Hub)}
		if owner.App != "" {
			filters = append(filters, tagFilter(cloud.TagApp, owner.App))
		}
		for s, err := range c.pages(ctx, query{op: op, bound: maxPages, filters: filters}) {
			if err == nil && !owner.Owns(s.Tags) {
				continue // An emulator may not know all filters.
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// query represents a request to list snapshots.
type query struct {
	op      string
	filters []types.Filter
	// bound is the maximum number of pages.
	bound int
}

// pages reads the account's own snapshots that pass filters. An error is the last.
func (c *client) pages(ctx context.Context, q query) iter.Seq2[cloud.Snapshot, error] {
	return func(yield func(cloud.Snapshot, error) bool) {
		in := &ec2.DescribeSnapshotsInput{OwnerIds: []string{"self"}, Filters: q.filters, MaxResults: aws.Int32(pageSize)}
		for range q.bound {
			out, err := c.ec2.DescribeSnapshots(ctx, in)
			if err != nil {
				yield(cloud.Snapshot{}, c.fail(q.op, read, err))
				return
			}
			for _, s := range out.Snapshots {
				if !yield(c.snapshotOf(s, out.ResultMetadata), nil) {
					return
				}
			}
			if aws.ToString(out.NextToken) == "" {
				return
			}
			in.NextToken = out.NextToken
		}
		yield(cloud.Snapshot{}, refusal(q.op, cloud.ClassTransient, "TooManyPages", fmt.Sprintf("the list did not end after %d pages", q.bound)))
	}
}

// DeleteSnapshot deletes a snapshot of the owner.
func (c *client) DeleteSnapshot(ctx context.Context, ref cloud.SnapshotRef, owner cloud.Owner) error {
	const op = "DeleteSnapshot"
	found, err := c.getSnapshot(ctx, op, ref)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !owner.Owns(found.Tags) {
		return foreign(op, ref.ID)
	}
	_, err = c.ec2.DeleteSnapshot(ctx, &ec2.DeleteSnapshotInput{SnapshotId: aws.String(ref.ID)})
	if err == nil {
		return nil
	}
	if err := c.fail(op, change, err); !gone(err) {
		return err
	}
	return nil
}

func gone(err error) bool { return cloud.ClassOf(err) == cloud.ClassNotFound }

func foreign(op, id string) error {
	return refusal(op, cloud.ClassDenied, cloud.CodeForeign, fmt.Sprintf("%q has not the tags of its owner", id))
}
