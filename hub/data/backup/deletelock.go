package backup

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/retention"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// lockRecheck is how often a lock is looked at whose end a clock has not reached: a clock may be set.
const lockRecheck = time.Hour

// underLock returns a Result that waits until the lock of a deletion has ended, by the clocks of the hub and of the
// provider: one that runs ahead must not end it early.
func (w *work) underLock() steps.Result {
	end := lockEnd(w.backup)
	if end.IsZero() {
		return steps.Result{}
	}
	ahead, known := w.options.Skew(w.backup.Status.Account)
	left := end.Sub(w.now.Add(min(ahead, 0)))
	kept := fmt.Sprintf(`locked: its data is deleted after %s. To keep it: kubectl patch backup %s -n %s --type merge -p '{"spec":{"deletion":"Retain"}}'`,
		end.Format(time.RFC3339), w.backup.Name, w.backup.Namespace)
	switch {
	case !known:
		return steps.RetryAfter(steps.Refused, v1.ReasonInUse, "%s, and the clock of the provider is not known", kept)
	case left > 0:
		return steps.RetryAfter(min(left, lockRecheck), v1.ReasonInUse, "%s", kept)
	}
	return steps.Result{}
}

// lockEnd returns when the data of a Backup that is being deleted may be deleted at the earliest, in UTC; zero means at
// once. What retention has decided to delete has no lock, if it failed or is older than the retention that was recorded with
// it: neither an edit of keepDays nor an annotation ends a lock.
func lockEnd(b *v1.Backup) time.Time {
	taken, deleted := b.Status.SnapshotTime, b.DeletionTimestamp
	if b.Status.DeleteLockDays <= 0 || taken == nil || deleted == nil || isLost(b) {
		return time.Time{}
	}
	if r := b.Status.Retention; b.Status.Expired && r != nil {
		expired := taken.AddDate(0, 0, retention.PolicyOf(*r).KeepDays)
		if deleted.After(expired) || readyOf(b).Status == metav1.ConditionFalse {
			return time.Time{}
		}
	}
	return deleted.UTC().AddDate(0, 0, int(b.Status.DeleteLockDays))
}

// isLost reports whether the cloud has nothing of a Backup.
func isLost(b *v1.Backup) bool {
	if d := b.Status.Dump; d != nil && d.Object != nil {
		return false
	}
	for _, s := range b.Status.Snapshots {
		for _, c := range append([]v1.CloudSnapshot{s.CloudSnapshot}, s.Copies...) {
			if c.State != v1.SnapshotMissing {
				return false
			}
		}
	}
	return true
}
