package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

const (
	// auditPeriod is how often the snapshots of an account are compared with the Backups.
	auditPeriod = time.Hour
	// auditAgain is how soon an audit goes on that did not come to the end.
	auditAgain = 5 * time.Minute
	// listTimeout bounds the list of a region, and getTimeout a look at one snapshot.
	listTimeout = 10 * time.Minute
	getTimeout  = 30 * time.Second
	// maxLooks bounds the snapshots of a region that one pass looks at, within the rate limit of an
	// account. The others have their turn in the next passes: what is missing already comes last.
	maxLooks = 40
	// backupsByAccount indexes Backups by their account.
	backupsByAccount = "backups-by-account"
)

// auditor compares successful Backups with what the cloud has, for one account at a time. Only an
// answer that a snapshot does not exist counts: what cannot be read stays as it was.
type auditor struct{ *Reconciler }

// accountOf returns the account of a Backup.
func accountOf(o client.Object) []string {
	if b, ok := o.(*v1.Backup); ok && b.Status.Account != "" {
		return []string{b.Status.Account}
	}
	return nil
}

// isAudited reports whether a Backup is successful and has snapshots, or a dump in a bucket.
func isAudited(b *v1.Backup) bool {
	return b.Status.Phase.IsSuccessful() && b.DeletionTimestamp.IsZero() && (len(b.Status.Snapshots) > 0 || wasSent(b))
}

// Reconcile audits the Backups of an account. An account that is not Ready may be another one than that
// which has the snapshots, and is not asked.
func (a *auditor) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	account := &v1.CloudAccount{}
	if err := a.client.Get(ctx, request.NamespacedName, account, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !isTrue(account, v1.ConditionReady) && !isTrue(account, v1.ConditionObjectStorageReady) {
		return a.options.Waits.Later(steps.Refused), nil
	}
	list := &v1.BackupList{}
	if err := a.client.List(ctx, list, client.MatchingFields{backupsByAccount: account.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing backups: %w", err)
	}
	l := &lists{account: account, orphans: newOrphans(a.client, list.Items)}
	backups := slices.DeleteFunc(list.Items, func(b v1.Backup) bool { return !isAudited(&b) })
	if err := a.compareAll(ctx, l, backups); err != nil {
		return reconcile.Result{}, err
	}
	var failed error
	if !l.unknown {
		failed = a.writeAccount(ctx, l)
	}
	for i := range backups {
		// A Backup that another controller writes at the same time has its turn in the next audit.
		if err := a.audit(ctx, &backups[i], l.has); !apierrors.IsConflict(err) {
			failed = errors.Join(failed, client.IgnoreNotFound(err))
		}
	}
	next := auditPeriod
	if l.more {
		next = auditAgain
	}
	return a.conflicts.Retry(a.options.Waits, request, a.options.Waits.Later(next), failed)
}

// inCloud says of snapshots, and of dumps by their prefix, whether they exist. Those that are not known are left out.
type inCloud struct {
	snapshots map[cloud.SnapshotRef]seen
	dumps     map[string]bool
}

// seen says of a snapshot whether it exists, and whose tag it has then; empty if it is not one of its Backup.
type seen struct {
	exists bool
	hub    string
}

// isTrue reports whether a condition of an account is True for its current spec.
func isTrue(account *v1.CloudAccount, kind string) bool {
	c := meta.FindStatusCondition(account.Status.Conditions, kind)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == account.Generation
}

// audit writes what the cloud does not have any more of a Backup.
func (a *auditor) audit(ctx context.Context, stored *v1.Backup, has inCloud) error {
	w := &work{Reconciler: a.Reconciler, stored: stored, backup: stored.DeepCopy(), now: a.options.Clock.Now()}
	w.concludeAudit(has.snapshots)
	lostDump := w.concludeDump(has.dumps)
	if err := w.concludeLostDump(ctx); err != nil {
		return err
	}
	if err := w.write(ctx); err != nil {
		return err
	}
	if w.backup.IsMissing() && !stored.IsMissing() {
		a.options.Recorder.Eventf(w.backup, nil, corev1.EventTypeWarning, readyOf(w.backup).Reason, "Audit", "%s", w.backup.Status.Message)
	}
	if lostDump {
		a.options.Recorder.Eventf(w.backup, nil, corev1.EventTypeWarning, v1.ReasonDumpMissing, "Audit", dumpLost)
	}
	return nil
}

// completed returns the snapshots and copies of a Backup that exist, or did once.
func completed(b *v1.Backup) []*v1.CloudSnapshot {
	var out []*v1.CloudSnapshot
	for i := range b.Status.Snapshots {
		s := &b.Status.Snapshots[i]
		out = append(out, &s.CloudSnapshot)
		for j := range s.Copies {
			out = append(out, &s.Copies[j])
		}
	}
	return slices.DeleteFunc(out, func(c *v1.CloudSnapshot) bool {
		return c.ID == "" || c.State != string(cloud.StateReady) && c.State != v1.SnapshotMissing
	})
}

// concludeAudit sets the states of snapshots that are known to exist or not, and the conditions.
func (w *work) concludeAudit(has map[cloud.SnapshotRef]seen) {
	for _, c := range completed(w.backup) {
		is, known := has[cloud.SnapshotRef{Region: c.Region, ID: c.ID}]
		// One without a hub is of the hub whose tag it has.
		w.backup.Status.HubUID = cmp.Or(w.backup.Status.HubUID, is.hub)
		switch {
		case !known:
		case is.exists && c.State == v1.SnapshotMissing:
			c.State, c.Message = string(cloud.StateReady), ""
		case !is.exists && c.State != v1.SnapshotMissing:
			c.State, c.Message = v1.SnapshotMissing, "the cloud does not have it any more"
		}
	}
	var claims, regions []string
	for i := range w.backup.Status.Snapshots {
		s := &w.backup.Status.Snapshots[i]
		if s.State == v1.SnapshotMissing {
			claims = append(claims, s.Claim+" in "+s.Region)
		}
		for _, c := range s.Copies {
			if c.State == v1.SnapshotMissing {
				regions = append(regions, c.Region)
			}
		}
	}
	w.concludeMissing(claims)
	w.concludeMissingCopies(regions)
}

// concludeMissing sets the condition Ready of a Backup some of whose snapshots may be missing.
func (w *work) concludeMissing(claims []string) {
	ready := metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonCompleted, Message: "The backup can be restored"}
	switch {
	case len(claims) > 0:
		message := "The cloud does not have the snapshot of " + strings.Join(claims, ", ") + " any more"
		if left := csi.RegionsOf(w.backup); len(left) > 0 {
			message += "; the copy in " + strings.Join(left, ", ") + " can be restored there"
		}
		ready = metav1.Condition{Status: metav1.ConditionFalse, Reason: v1.ReasonSnapshotMissing, Message: v1.Excerpt(message, steps.MaxMessage)}
	case readyOf(w.backup).Reason != v1.ReasonSnapshotMissing:
		return
	case w.backup.Status.Phase == v1.BackupPartiallyCompleted:
		ready.Reason, ready.Message = v1.ReasonPartiallyCompleted, "The backup can be restored where it is"
	}
	w.backup.Status.Message = ready.Message
	w.set(v1.ConditionReady, ready)
}

// concludeMissingCopies sets the condition Copied of a Backup some of whose copies may be missing.
func (w *work) concludeMissingCopies(regions []string) {
	slices.Sort(regions)
	before := meta.FindStatusCondition(w.backup.Status.Conditions, v1.ConditionCopied)
	switch {
	case len(regions) > 0:
		message := "The cloud does not have the copy in " + strings.Join(slices.Compact(regions), ", ") + " any more"
		w.set(v1.ConditionCopied, metav1.Condition{Status: metav1.ConditionFalse, Reason: v1.ReasonSnapshotMissing, Message: message})
	case before != nil && before.Reason == v1.ReasonSnapshotMissing:
		w.concludeCopies(w.failedCopies())
	}
}
