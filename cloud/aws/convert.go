package aws

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/aws/apierror"
)

const gib = int64(1) << 30

// volumeID returns the ID in a volume handle: vol-…, or the aws://zone/vol-… of volumes
// from before CSI.
func (c *client) volumeID(op string, ref cloud.VolumeRef) (string, error) {
	id := ref.Handle
	if rest, ok := strings.CutPrefix(id, "aws://"); ok {
		id = rest[strings.LastIndex(rest, "/")+1:]
	}
	if !regexp.MustCompile(`^vol-[0-9a-f]{8,17}$`).MatchString(id) {
		return "", refusal(op, cloud.ClassInvalid, "Handle", fmt.Sprintf("%q is not the handle of an EBS volume", ref.Handle))
	}
	return id, c.here(op, ref.Region)
}

// snapshotID returns the ID of a snapshot in the region of the session.
func (c *client) snapshotID(op string, ref cloud.SnapshotRef) (string, error) {
	return ref.ID, cmp.Or(goodSnapshot(op, ref.ID), c.here(op, ref.Region))
}

func goodSnapshot(op, id string) error {
	if !regexp.MustCompile(`^snap-[0-9a-f]{8,17}$`).MatchString(id) {
		return refusal(op, cloud.ClassInvalid, "ID", fmt.Sprintf("%q is not the ID of an EBS snapshot", id))
	}
	return nil
}

// here returns an error for an object of another region, because this region would report
// it as missing.
func (c *client) here(op, region string) error {
	if region != "" && region != c.config.Region {
		return refusal(op, cloud.ClassInvalid, "Region", fmt.Sprintf("%q is not the session's region %q", region, c.config.Region))
	}
	return nil
}

// attempted returns the name of an attempt, so that a later attempt does not find a
// failed snapshot.
func attempted(name string, attempt int) string {
	if attempt == 0 {
		return name
	}
	return name + "-" + strconv.Itoa(attempt)
}

func ownerOf(tags cloud.Tags) cloud.Owner {
	return cloud.Owner{Hub: tags[cloud.TagHub], App: tags[cloud.TagApp]}
}

// tagged returns the tags of a snapshot to create.
func tagged(tags cloud.Tags) []types.TagSpecification {
	spec := types.TagSpecification{ResourceType: types.ResourceTypeSnapshot}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		spec.Tags = append(spec.Tags, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return []types.TagSpecification{spec}
}

func tagsOf(tags []types.Tag) cloud.Tags {
	out := make(cloud.Tags, len(tags))
	for _, tag := range tags {
		out[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return out
}

func tagFilter(key, value string) types.Filter {
	// In the values of filters these mean any text and any character.
	escaped := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`).Replace(value)
	return types.Filter{Name: aws.String("tag:" + key), Values: []string{escaped}}
}

// snapshotOf converts a snapshot to cloud.Snapshot.
func (c *client) snapshotOf(s types.Snapshot, answer middleware.Metadata) cloud.Snapshot {
	tags := tagsOf(s.Tags)
	out := cloud.Snapshot{
		Ref:  cloud.SnapshotRef{Region: c.config.Region, ID: aws.ToString(s.SnapshotId)},
		Name: tags[cloud.TagName], State: snapshotState(s.State), TakenAt: aws.ToTime(s.StartTime),
		Progress: progress(aws.ToString(s.Progress)), SizeBytes: int64(aws.ToInt32(s.VolumeSize)) * gib,
		Encrypted: aws.ToBool(s.Encrypted), SourceHandle: aws.ToString(s.VolumeId), Tags: tags,
	}
	if source := tags[cloud.TagCopyOf]; source != "" {
		out.SourceHandle = source // The volume ID of a copy is of no volume.
	}
	if out.State == cloud.StateCreating {
		out.TakenAt = time.Time{}
	}
	if out.State == cloud.StateFailed {
		out.Message = apierror.Sanitize(cmp.Or(aws.ToString(s.StateMessage), "EC2 does not say why it failed"))
		// EC2 accepts a copy with any key, and fails it later.
		if tags[cloud.TagCopyOf] != "" && c.account.Keys[c.config.Region] != "" {
			out.Message += fmt.Sprintf("; spec.aws.keys.%s of the CloudAccount must be a key there that the hub may use", c.config.Region)
		}
	}
	out.ObservedAt, _ = awsmiddleware.GetServerTime(answer)
	return out
}

// snapshotState converts a state. The point in time of an EC2 snapshot is fixed when it
// is created.
func snapshotState(s types.SnapshotState) cloud.State {
	switch s {
	case types.SnapshotStatePending:
		return cloud.StateTaken
	case types.SnapshotStateCompleted:
		return cloud.StateReady
	case types.SnapshotStateError:
		return cloud.StateFailed
	case types.SnapshotStateRecoverable: // In the recycle bin.
		return cloud.StateDeleting
	default:
		return cloud.StateCreating
	}
}

// progress reads "37%"; -1 is unknown.
func progress(text string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
	if err != nil || n < 0 || n > 100 {
		return -1
	}
	return n
}

// volumeOf converts a volume to cloud.Volume.
func (c *client) volumeOf(v types.Volume) cloud.Volume {
	id := aws.ToString(v.VolumeId)
	return cloud.Volume{
		Ref: cloud.VolumeRef{Region: c.config.Region, Zone: aws.ToString(v.AvailabilityZone), Handle: id}, UID: id,
		SizeBytes: int64(aws.ToInt32(v.Size)) * gib,
	}
}
