package restore

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// find reads what is to be restored on the hub, and reports whether it can be.
func (w *work) find(ctx context.Context) (steps.Result, error) {
	if result, err := w.getObjects(ctx); result.Stops() || err != nil {
		return result, err
	}
	if result := w.paused(); result.Stops() {
		return result, nil
	}
	if w.restore.Status.StartTime == nil {
		w.restore.Status.StartTime = v1.Seconds(w.now)
	} else if reasonOf(w.stored) == v1.ReasonPaused {
		w.restore.Status.ResumeTime = v1.Seconds(w.now)
	}
	return w.canRestore(), nil
}

// paused reports that the member or the application is paused.
func (w *work) paused() steps.Result {
	switch {
	case w.member.Spec.Paused:
		return steps.RetryAfter(steps.Member, v1.ReasonPaused, "the restore is held back by spec.paused of MemberCluster %s", w.member.Name)
	case w.member.IsPaused():
		return steps.RetryAfter(steps.Member, v1.ReasonPaused, "the restore is held back by the hub's safe mode, or until %s is connected again", w.member.Name)
	case w.app != nil && w.app.Spec.Paused && !w.restore.Spec.Verify:
		return steps.RetryAfter(steps.Member, v1.ReasonPaused, "the restore is held back by spec.paused of EcommerceApp %s", w.app.Name)
	default:
		return steps.Result{}
	}
}

// getObjects reads what a Restore works on from the hub. Backup or member may be no more.
func (w *work) getObjects(ctx context.Context) (steps.Result, error) {
	w.backup, w.member, w.app = &v1.Backup{}, &v1.MemberCluster{}, &v1.EcommerceApp{}
	err := w.client.Get(ctx, client.ObjectKey{Namespace: w.restore.Namespace, Name: w.restore.Spec.BackupRef.Name}, w.backup)
	if apierrors.IsNotFound(err) {
		return steps.Fail(v1.ReasonBackupNotFound, "there is no Backup %q", w.restore.Spec.BackupRef.Name), nil
	}
	if err != nil {
		return steps.Result{}, fmt.Errorf("getting the backup: %w", err)
	}
	err = w.client.Get(ctx, client.ObjectKey{Name: w.clusterName()}, w.member)
	if apierrors.IsNotFound(err) {
		return steps.Fail(v1.ReasonClusterDetached, "there is no MemberCluster %q", w.clusterName()), nil
	}
	if err != nil {
		return steps.Result{}, fmt.Errorf("getting the member: %w", err)
	}
	return steps.Result{}, w.getApp(ctx)
}

// getApp reads the application with the spec that it has in the member; it may be no more.
func (w *work) getApp(ctx context.Context) error {
	err := w.client.Get(ctx, client.ObjectKey{Namespace: w.restore.Namespace, Name: w.backup.Spec.AppRef.Name}, w.app)
	if apierrors.IsNotFound(err) {
		w.app = nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("getting the application: %w", err)
	}
	has, err := w.options.Revisions.InMember(ctx, w.app, w.member)
	if refused, is := errors.AsType[*apierror.SpecError](err); is {
		w.invalid = refused
		return nil
	}
	w.app.Spec = has.Spec
	return err
}

// database returns the application's database as the member should have it; nil without an
// application or a database.
func (w *work) database() *v1.Database {
	if w.app == nil {
		return nil
	}
	return w.app.Spec.Database
}

func (w *work) clusterName() string {
	if w.restore.Spec.ClusterRef.Name != "" {
		return w.restore.Spec.ClusterRef.Name
	}
	return w.backup.Spec.ClusterRef.Name
}

// dumpRemoved reports whether the dump of a backup was removed from its claim, and is in no bucket.
func dumpRemoved(b *v1.BackupStatus) bool {
	ready := meta.FindStatusCondition(b.Conditions, v1.ConditionReady)
	inBucket := b.Dump != nil && b.Dump.Object != nil && b.Dump.Object.State == v1.DumpSent
	return b.Phase == v1.BackupFailed && b.Dump != nil && !inBucket && ready != nil && ready.Reason == v1.ReasonDumpMissing
}

// canRestore reports whether the backup can be restored there.
func (w *work) canRestore() steps.Result {
	b, m := &w.backup.Status, w.member
	switch {
	case w.replaced(), w.loading():
		return steps.Result{} // Too late to refuse.
	case w.invalid != nil:
		return steps.RetryAfter(steps.Member, v1.ReasonInvalidSpec, "the spec of EcommerceApp %s in %s is not known: %v", w.app.Name, m.Name, w.invalid)
	case !w.backup.DeletionTimestamp.IsZero():
		return steps.Fail(v1.ReasonBackupNotFound, "Backup %q is being deleted", w.backup.Name)
	case dumpRemoved(b):
		return steps.Fail(v1.ReasonDumpMissing, "Backup %q cannot be restored: %s", w.backup.Name, b.Message)
	case b.Phase == v1.BackupFailed && b.Dump != nil && b.Dump.File != "" && b.SnapshotTime != nil && !w.restore.Spec.Verify:
		return steps.Result{} // It could not be sent, and may be on its claim.
	case b.Phase == v1.BackupFailed:
		return steps.Fail(v1.ReasonBackupNotReady, "Backup %q has failed: %s", w.backup.Name, b.Message)
	case !b.Phase.IsSuccessful() && b.Phase != v1.BackupFinalizing:
		return steps.RetryAfter(steps.Member, v1.ReasonBackupNotReady, "Backup %q is not complete", w.backup.Name)
	case w.isDump() && !w.restore.Spec.Verify:
		return steps.Result{} // Of any provider: the database to load it into is in the member.
	case w.isDump():
		return w.canVerify()
	case m.Status.Provider == "" || m.Status.Region == "":
		return steps.RetryAfter(steps.Member, v1.ReasonProviderUnknown, "provider and region of %s are not known yet", m.Name)
	}
	if o := csi.ClusterObstacle(w.backup, m); o.Reason != "" {
		return steps.Fail(o.Reason, "%s", o.Message)
	}
	if w.restore.Spec.Verify {
		return w.canVerify()
	}
	if why := filesMismatch(w.database(), b); why != "" {
		return steps.Fail(v1.ReasonEngineMismatch, "%s", why)
	}
	return steps.Result{}
}
