package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/retention"
)

// by returns the application's Backups of one cluster that use a method.
func (in input) by(method v1.BackupMethod, cluster string) []*v1.Backup {
	var out []*v1.Backup
	for i := range in.backups {
		b := &in.backups[i]
		if b.Status.AppUID != "" && b.Status.AppUID != string(in.app.UID) {
			continue // It belongs to a deleted application of the same name.
		}
		if b.Spec.ClusterRef.Name == cluster && (b.Spec.Method == v1.BackupDump) == (method == v1.BackupDump) {
			out = append(out, b)
		}
	}
	return out
}

// backup returns the Backup of a name, or nil.
func (in input) backup(name string) *v1.Backup {
	for i := range in.backups {
		if in.backups[i].Name == name {
			return &in.backups[i]
		}
	}
	return nil
}

// lastScheduledTime returns the newest handled scheduled time, or the creation time of
// the application. It is also stored in the status, so that a Backup that a user deletes
// is not created again.
func (in input) lastScheduledTime(cluster string, mine []*v1.Backup) time.Time {
	last := in.app.CreationTimestamp.Time
	// Ignore times in the future, which would suspend the schedule.
	future := in.now.Add(retention.MaxClockSkew)
	for _, s := range in.app.Status.Backups {
		if s.Name == cluster && s.LastScheduledTime != nil && s.LastScheduledTime.After(last) && s.LastScheduledTime.Time.Before(future) {
			last = s.LastScheduledTime.Time
		}
	}
	for _, b := range mine {
		if b.Spec.ScheduledTime != nil && b.Spec.ScheduledTime.After(last) && b.Spec.ScheduledTime.Time.Before(future) {
			last = b.Spec.ScheduledTime.Time
		}
	}
	return last
}

// known reports whether the status lists the cluster.
func (in input) known(cluster string) bool {
	return slices.ContainsFunc(in.app.Status.Backups, func(b v1.ClusterBackups) bool { return b.Name == cluster })
}

// busy reports whether a Backup is in progress and its snapshot is not taken yet, the hub runs in
// safe mode, or there is nothing to back up because the database is lost. A second one would
// interfere; its scheduled time is run later.
func (in input) busy(cluster string, mine []*v1.Backup) bool {
	if in.safeMode || in.app.IsDatabaseLost(cluster) {
		return true
	}
	for _, b := range mine {
		if b.DeletionTimestamp.IsZero() && (b.Status.Phase == "" || b.Status.Phase == v1.BackupPending || b.Status.Phase == v1.BackupInProgress) {
			return true
		}
	}
	return false
}

// entries returns the status entries for histories.
func entries(histories []History) []v1.ClusterBackups {
	out := make([]v1.ClusterBackups, 0, len(histories))
	for _, h := range histories {
		out = append(out, v1.ClusterBackups{
			Name: h.Cluster, LastScheduledTime: v1.Seconds(h.LastScheduledTime), LastBackupTime: v1.Seconds(h.LastGood), NextBackupTime: v1.Seconds(h.Next),
			Version: h.Server.Version, Image: h.Server.Image, UpgradeTime: v1.Seconds(h.UpgradeTime),
			LastVerifyScheduledTime: v1.Seconds(h.LastVerifyScheduledTime), LastVerifiedTime: v1.Seconds(h.LastVerified),
		})
	}
	slices.SortFunc(out, func(a, b v1.ClusterBackups) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// history summarizes the Backups of a cluster.
func (in input) history(name string, mine []*v1.Backup) History {
	h := History{Cluster: name, Since: in.app.CreationTimestamp.Time}
	for _, b := range mine {
		switch b.Status.Phase {
		default:
		case v1.BackupCompleted:
			h.Completed++
		case v1.BackupPartiallyCompleted:
			h.Partial++
		case v1.BackupFailed:
			if h.Failed == nil {
				h.Failed = map[string]int{}
			}
			h.Failed[reasonOf(b)]++
		}
	}
	if b := newestGood(mine); b != nil && b.Status.SnapshotTime != nil {
		h.LastGood = b.Status.SnapshotTime.Time
	}
	return h
}

// reasonOf returns the reason of a failed Backup, one of the constants of package api/v1.
func reasonOf(b *v1.Backup) string {
	if c := meta.FindStatusCondition(b.Status.Conditions, v1.ConditionReady); c != nil {
		return c.Reason
	}
	return ""
}

// pointInTime returns the snapshot time of a Backup, or its creation time if unknown. A
// rediscovered Backup is older than its object.
func pointInTime(b *v1.Backup) time.Time {
	if b.Status.SnapshotTime != nil {
		return b.Status.SnapshotTime.Time
	}
	return b.CreationTimestamp.Time
}

// newest returns the newest Backup that fulfills a condition, or nil.
func newest(mine []*v1.Backup, is func(*v1.Backup) bool) *v1.Backup {
	var found *v1.Backup
	for _, b := range mine {
		if is(b) && b.DeletionTimestamp.IsZero() && (found == nil || pointInTime(found).Before(pointInTime(b))) {
			found = b
		}
	}
	return found
}

// newestGood returns the newest Backup that can be restored where it is, and newestFailed the
// newest that failed; nil if there is none.
func newestGood(mine []*v1.Backup) *v1.Backup { return newest(mine, isGood) }
func newestFailed(mine []*v1.Backup) *v1.Backup {
	return newest(mine, func(b *v1.Backup) bool { return b.Status.Phase == v1.BackupFailed })
}

// isGood reports whether a Backup was successful, and the cloud still has it.
func isGood(b *v1.Backup) bool { return b.Status.Phase.IsSuccessful() && !b.IsMissing() }

// catalog returns the input of the retention decision about the Backups of one cluster and method, which should also be in
// the wanted places.
func (in input) catalog(mine []*v1.Backup, wanted []string) retention.Catalog {
	out := retention.Catalog{Skews: in.skews, Wanted: wanted}
	for _, b := range mine {
		entry := retention.Backup{
			Name: b.Name, CreatedAt: b.CreationTimestamp.Time, State: stateOf(b), Pinned: in.pinned(b),
			Verified: b.Status.LastVerifiedTime != nil, Method: string(b.Spec.Method), Account: b.Status.Account, Places: placesOf(b),
			Expires: b.Annotations[v1.KeepNewestAnnotation] == "false",
		}
		if b.Status.SnapshotTime != nil {
			entry.TakenAt = b.Status.SnapshotTime.Time
		}
		out.Backups = append(out.Backups, entry)
	}
	return out
}

func stateOf(b *v1.Backup) retention.State {
	switch {
	case !b.DeletionTimestamp.IsZero():
		return retention.StateDeleting
	case b.IsMissing():
		return retention.StateMissing
	case b.Status.Phase.IsSuccessful():
		return retention.StateCompleted
	case b.Status.Phase == v1.BackupFailed:
		return retention.StateFailed
	case b.Status.Phase == v1.BackupFinalizing:
		return retention.StateTaken
	default:
		return retention.StateInProgress
	}
}

// pinned returns why a Backup must not be deleted now, or an empty string.
func (in input) pinned(b *v1.Backup) string {
	for i := range in.restores {
		r := &in.restores[i]
		if r.Spec.BackupRef.Name == b.Name && r.Status.Phase != v1.RestoreCompleted && r.Status.Phase != v1.RestoreFailed {
			return fmt.Sprintf("being restored by %s", r.Name)
		}
	}
	if why := in.foreign(b); why != "" {
		return why
	}
	// What was taken over is pruned without a word for each.
	if b.Annotations[v1.RediscoveredAnnotation] != "" && in.isOwn(b) {
		return "rediscovered in the cloud, and may have been kept on purpose"
	}
	return ""
}
