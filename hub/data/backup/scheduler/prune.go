package scheduler

import (
	"fmt"
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/retention"
)

// prune decides which Backups of a cluster are deleted.
func (in input) prune(decision *Decision, c clusterMethod, mine []*v1.Backup) []problem {
	cluster := c.name
	if in.newerIn() != "" {
		return nil // decide reports it.
	}
	policy := retention.PolicyOf(in.app.Spec.Database.Backup.Retention)
	pruned := retention.Prune(in.now, in.catalog(mine, in.wanted(c)), policy)
	if in.safeMode || in.members[cluster].IsPaused() {
		if len(pruned.Delete) > 0 {
			decision.notes = append(decision.notes, cluster+": old backups are not deleted while writes are paused")
		}
		return nil // The end of the pause is a change of the member.
	}
	if in.app.IsDatabaseLost(cluster) {
		decision.unmark(mine, nil) // What is lost is in one of these backups.
		return nil
	}
	if !in.compared[cluster] && len(pruned.Delete) > 0 {
		decision.RequeueAt = earliest(decision.RequeueAt, in.now.Add(in.waits.Scaled(deletionRetry)))
		if in.pastStart {
			decision.notes = append(decision.notes, cluster+": old backups are not deleted before the cluster is compared with the hub")
		}
		return nil
	}
	decision.Delete = append(decision.Delete, pruned.Delete...)
	decision.unmark(mine, pruned.Delete)
	if pruned.Postponed == "" {
		return nil
	}
	decision.RequeueAt = earliest(decision.RequeueAt, in.now.Add(in.waits.Scaled(deletionRetry)))
	if pruned.Blocked == "" && !in.pastStart {
		return nil // The skew becomes known when the accounts are verified after the start.
	}
	return []problem{{v1.ReasonPruningHeld, fmt.Sprintf("%s: old backups are not deleted: %s", cluster, pruned.Postponed)}}
}

// unmark adds the Backups that retention marked for deletion and now keeps.
func (d *Decision) unmark(mine []*v1.Backup, going []retention.Decision) {
	for _, b := range mine {
		goes := slices.ContainsFunc(going, func(v retention.Decision) bool { return v.Name == b.Name })
		if isMarked(b) && !goes && b.DeletionTimestamp.IsZero() {
			d.Keep = append(d.Keep, b)
		}
	}
}

// newerIn returns a cluster that has a newer copy or a recorded deletion, because the hub was restored
// from an older backup: the retention may be older, too. It is empty if there is none.
func (in input) newerIn() string {
	for i := range in.app.Status.Clusters {
		if c := &in.app.Status.Clusters[i]; c.UnknownOrigin != "" {
			return c.Name
		}
	}
	return ""
}

// isMarked reports whether retention marked a Backup for deletion.
func isMarked(b *v1.Backup) bool { return b.Annotations[v1.PrunedAnnotation] != "" }
