package scheduler

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/retention"
)

// bucket is the place of dumps that are not only in their cluster. The place of a snapshot is a region.
const bucket = "bucket"

// offsite is a place that each backup of a cluster should also be in.
type offsite struct {
	place string
	// last is the snapshot time of the newest successful backup there; zero if there is none. Since
	// is when one was first wanted there.
	last, since time.Time
}

// wanted returns the places that each backup should also be in: the regions of copyToRegions, or
// the bucket. Dumps are not copied to regions: for them a bucket is what is far from the cluster.
func (in input) wanted(c clusterMethod) []string {
	regions := in.app.Spec.Database.Backup.CopyToRegions
	if c.method != v1.BackupDump {
		own := in.members[c.name].Status.Region
		return slices.DeleteFunc(slices.Clone(regions), func(region string) bool { return region == own })
	}
	if in.buckets[c.name] || len(regions) > 0 {
		return []string{bucket}
	}
	return nil
}

// copyable returns the regions of copyToRegions that snapshots can be copied to.
func (in input) copyable(c clusterMethod) []string {
	member := in.members[c.name]
	return csi.Copyable(member.Status.Provider, member.Status.Region, in.app.Spec.Database.Backup.CopyToRegions)
}

// impossible returns why backups will never be in a place that they should also be in, and what to
// do; empty if they can be.
func (in input) impossible(c clusterMethod, place string) string {
	switch {
	case place == bucket && !in.buckets[c.name]:
		return "dumps are not copied to the regions of spec.database.backup.copyToRegions: set spec.objectStorage of the CloudAccount of " + c.name
	case place != bucket && !slices.Contains(in.copyable(c), place):
		return fmt.Sprintf("the provider %s cannot store a snapshot in more regions than %d: correct spec.database.backup.copyToRegions",
			in.members[c.name].Status.Provider, len(in.copyable(c)))
	default:
		return ""
	}
}

// offsite adds to the history where backups are, and returns problems for the places that have had
// no new one for longer than maxRPO. Places that lack the newest one for less are pending.
func (in input) offsite(decision *Decision, h *History, c clusterMethod, mine []*v1.Backup) []problem {
	good := newestGood(mine)
	var found []problem
	for _, place := range in.wanted(c) {
		o := offsite{place: place, since: in.wantedSince(c, place, mine)}
		if b := newestGood(within(mine, place)); b != nil {
			o.last = pointInTime(b)
		}
		h.Offsite = append(h.Offsite, o)
		if good == nil || !o.last.Before(pointInTime(good)) {
			continue // There is no backup at all, or the newest one is there.
		}
		message := fmt.Sprintf("%s: the newest successful backup, %s, is not in %s", c.name, good.Name, articled(place))
		if why := in.missing(c, place, good); why != "" {
			message += ": " + why
		}
		if retention.RPO(o.last, o.since, in.now).AtRisk(h.MaxRPO) {
			found = append(found, problem{v1.ReasonNotOffsite, message})
			continue
		}
		decision.pending = append(decision.pending, message)
		from := o.last
		if from.IsZero() {
			from = o.since
		}
		decision.RequeueAt = earliest(decision.RequeueAt, from.Add(h.MaxRPO+time.Second))
	}
	return found
}

// articled returns a place as it stands in a sentence.
func articled(place string) string {
	if place == bucket {
		return "the bucket"
	}
	return place
}

// age returns for how long there has been no newer backup in the place.
func (o offsite) age(now time.Time) time.Duration {
	return retention.RPO(o.last, o.since, now).Age
}

// missing returns why a successful backup is not in a place; empty if that is not known.
func (in input) missing(c clusterMethod, place string, b *v1.Backup) string {
	if why := in.impossible(c, place); why != "" {
		return why
	}
	for i := range b.Status.Snapshots {
		for _, copied := range b.Status.Snapshots[i].Copies {
			if copied.Region == place && (copied.State == string(cloud.StateFailed) || copied.State == v1.SnapshotMissing) {
				return copied.Message
			}
		}
	}
	if condition := meta.FindStatusCondition(b.Status.Conditions, v1.ConditionCopied); place == bucket && condition != nil && (condition.Reason == v1.ReasonCopyFailed || condition.Reason == v1.ReasonDumpMissing) {
		return condition.Message
	}
	return ""
}

// wantedSince returns when a backup was first wanted in a place: a region that was added to
// copyToRegions, or a bucket, has nothing before the next backup.
func (in input) wantedSince(c clusterMethod, place string, mine []*v1.Backup) time.Time {
	if in.impossible(c, place) != "" {
		return in.app.CreationTimestamp.Time
	}
	since := in.now
	for _, b := range mine {
		wants := slices.Contains(b.Spec.CopyToRegions, place)
		if place == bucket {
			wants = meta.FindStatusCondition(b.Status.Conditions, v1.ConditionCopied) != nil
		}
		if wants && b.CreationTimestamp.Time.Before(since) {
			since = b.CreationTimestamp.Time
		}
	}
	return since
}

// within returns the Backups that are in a place.
func within(mine []*v1.Backup, place string) []*v1.Backup {
	return slices.DeleteFunc(slices.Clone(mine), func(b *v1.Backup) bool { return !slices.Contains(placesOf(b), place) })
}

// placesOf returns where a backup can be restored from besides its own cluster: the regions that
// have each of its snapshots, or the bucket.
func placesOf(b *v1.Backup) []string {
	if b.Spec.Method == v1.BackupDump {
		if d := b.Status.Dump; d != nil && d.Object != nil && d.Object.State == v1.DumpSent {
			return []string{bucket}
		}
		return nil
	}
	return csi.RegionsOf(b)
}
