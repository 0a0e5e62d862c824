package backup

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// noticedLate bounds the time after the loss of a database at which its copy reports it.
const noticedLate = time.Hour

// lost returns a Result that waits while the database of a Backup that retention deletes is lost:
// the data may be needed after all.
func (w *work) lost(ctx context.Context) (steps.Result, error) {
	app := &v1.EcommerceApp{}
	key := client.ObjectKey{Namespace: w.backup.Namespace, Name: w.backup.Spec.AppRef.Name}
	if err := w.client.Get(ctx, key, app, client.UnsafeDisableDeepCopy); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return steps.Result{}, nil
		}
		return steps.Result{}, fmt.Errorf("getting the application: %w", err)
	}
	if string(app.UID) != w.backup.Status.AppUID || !app.IsDatabaseLost(w.backup.Spec.ClusterRef.Name) {
		return steps.Result{}, nil
	}
	return steps.RetryAfter(steps.Refused, v1.ReasonDatabaseLost, "the data is kept while the database in %s is lost", w.backup.Spec.ClusterRef.Name), nil
}

// checkDatabase fails a Backup that would complete, but is of the empty volume of a lost database. A
// member that does not answer fails nothing.
func (w *work) checkDatabase(ctx context.Context) (steps.Result, error) {
	noticed, lost := w.lostSince(ctx)
	if !lost {
		return steps.Result{}, nil
	}
	// Without claims, the database no longer uses the volume that was snapshotted.
	volumes := map[string]string{}
	if claims, err := w.claims(ctx); err == nil {
		for _, c := range claims {
			volumes[c.name] = c.ref.Handle
		}
	}
	if !takenOfNothing(&w.backup.Status, noticed, volumes) {
		return steps.Result{}, nil
	}
	return steps.Fail(v1.ReasonDatabaseLost, "the database in %s was lost before the backup was taken, which is of an empty volume", w.backup.Spec.ClusterRef.Name), nil
}

// lostSince returns when the member noticed that the database is lost, if it says so.
func (w *work) lostSince(ctx context.Context) (noticed time.Time, lost bool) {
	copied, err := w.copyInMember(ctx)
	if err != nil {
		return time.Time{}, false
	}
	return noticedAt(copied.Status.Conditions, w.now)
}

// noticedAt returns since when conditions of a copy say that the database is lost. A member whose clock is
// ahead noticed it now at the latest.
func noticedAt(conditions []metav1.Condition, now time.Time) (noticed time.Time, lost bool) {
	c := meta.FindStatusCondition(conditions, v1.ConditionDatabaseLost)
	if c == nil || c.Status != metav1.ConditionTrue {
		return time.Time{}, false
	}
	if c.LastTransitionTime.After(now) {
		return now, true
	}
	return c.LastTransitionTime.Time, true
}

// takenOfNothing reports whether a backup is of the data that a lost database does not have any
// more: one of the volume that it has now, by claim, was taken when the loss was noticed at about the
// same time or before. A volume that is not the database's any more was snapshotted before the loss.
func takenOfNothing(s *v1.BackupStatus, noticed time.Time, volumes map[string]string) bool {
	if s.SnapshotTime == nil {
		return false
	}
	if s.Dump != nil {
		return !noticed.After(s.SnapshotTime.Time)
	}
	for i := range s.Snapshots {
		if volumes[s.Snapshots[i].Claim] == s.Snapshots[i].Volume && !noticed.After(s.SnapshotTime.Add(noticedLate)) {
			return true
		}
	}
	return false
}

// copyInMember reads the copy of the application from the API server of the member.
func (w *work) copyInMember(ctx context.Context) (*v1.EcommerceApp, error) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	member, err := w.options.Member(ctx, multicluster.ClusterName(w.backup.Spec.ClusterRef.Name))
	if err != nil {
		return nil, err
	}
	copied := &v1.EcommerceApp{}
	return copied, member.GetAPIReader().Get(ctx, client.ObjectKey{Namespace: w.backup.Namespace, Name: w.backup.Spec.AppRef.Name}, copied)
}
