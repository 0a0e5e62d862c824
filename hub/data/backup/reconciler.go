package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	// passTimeout bounds one pass: a few requests to a member, and some to a cloud.
	passTimeout = 3 * time.Minute
	// snapshotTimeout bounds the time until the point in time is fixed, and readyTimeout the time until
	// the data is stored and copies are complete.
	snapshotTimeout = 6 * time.Hour
	readyTimeout    = 48 * time.Hour
)

// Reconciler carries out Backups.
type Reconciler struct {
	client    client.Client
	options   Options
	conflicts retry.Conflicts
}

// work is one pass over a Backup. The pass changes the status, which the next write stores.
type work struct {
	*Reconciler
	backup *v1.Backup
	// stored is the Backup as the server has it.
	stored *v1.Backup
	now    time.Time
	// unsent is why the dump is not in the bucket of its account; empty if it is, is on its way
	// there, or if there is no bucket.
	unsent string
}

// Reconcile runs one pass over a Backup.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	backup := &v1.Backup{}
	if err := r.client.Get(ctx, request.NamespacedName, backup); err != nil {
		return r.conflicts.Retry(r.options.Waits, request, reconcile.Result{}, client.IgnoreNotFound(err))
	}
	w := &work{Reconciler: r, stored: backup, now: r.options.Clock.Now()}
	result, err := w.pass(ctx)
	return r.conflicts.Retry(r.options.Waits, request, result, client.IgnoreNotFound(err))
}

func (w *work) pass(ctx context.Context) (reconcile.Result, error) {
	if !w.stored.DeletionTimestamp.IsZero() {
		return w.finalize(ctx)
	}
	if err := w.ensureFinalizer(ctx); err != nil {
		return reconcile.Result{}, w.unstarted(ctx, err)
	}
	if Done(w.stored) || w.stored.Annotations[v1.RediscoveredAnnotation] != "" {
		// The controller that rediscovered it in the cloud writes its status.
		return reconcile.Result{}, nil
	}
	w.backup = w.stored.DeepCopy()
	result, err := steps.Advance(ctx, w.steps(), &w.backup.Status.Steps, w.now)
	if err != nil {
		return reconcile.Result{}, err
	}
	w.conclude(result)
	// First, so that a hub that ends in between repeats it.
	if err := w.failRemoved(ctx); err != nil {
		return reconcile.Result{}, err
	}
	if err := w.write(ctx); err != nil {
		return reconcile.Result{}, err
	}
	if Done(w.backup) {
		return reconcile.Result{}, nil
	}
	return w.options.Waits.Later(result.Wait), nil
}

// Done reports whether nothing more is done for a Backup, good or not.
func Done(b *v1.Backup) bool { return b.Status.Phase.IsFinal() }

func (w *work) ensureFinalizer(ctx context.Context) error {
	before := w.stored.DeepCopy()
	if !controllerutil.AddFinalizer(w.stored, v1.BackupFinalizer) {
		return nil
	}
	if err := w.client.Patch(ctx, w.stored, retry.MergeFromLocked(before)); err != nil {
		return fmt.Errorf("adding the finalizer: %w", err)
	}
	return nil
}

// unstarted reports that a Backup cannot be started because of an error, if that lasts until a user acts, and
// returns the error.
func (w *work) unstarted(ctx context.Context, err error) error {
	d := apierror.Decide(err)
	if !d.Blocking || Done(w.stored) || w.stored.Annotations[v1.RediscoveredAnnotation] != "" {
		return err
	}
	w.backup = w.stored.DeepCopy()
	w.conclude(steps.RetryAfter(d.Wait, d.Reason, "%s", d.Message))
	return errors.Join(err, w.write(ctx))
}

// write writes the status if it changed.
func (w *work) write(ctx context.Context) error {
	if equality.Semantic.DeepEqual(w.stored.Status, w.backup.Status) {
		return nil
	}
	before := w.stored
	if err := w.client.Status().Patch(ctx, w.backup, retry.MergeFromLocked(before)); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	w.stored = w.backup.DeepCopy()
	kind, reason := corev1.EventTypeWarning, readyOf(w.backup).Reason
	if w.backup.Status.Phase == v1.BackupCompleted {
		kind, reason = corev1.EventTypeNormal, v1.ReasonCompleted
	}
	if Done(w.backup) && !Done(before) || steps.Rejected(reason) && readyOf(before).Reason != reason {
		w.options.Recorder.Eventf(w.backup, nil, kind, reason, "BackUp", "%s", w.backup.Status.Message)
	}
	return nil
}

// owner returns the hub and the application that own the snapshots, or the dump: a former hub may have made them.
func (w *work) owner() cloud.Owner {
	return cloud.Owner{Hub: cmp.Or(w.backup.Status.HubUID, w.options.HubUID), App: w.backup.Status.AppUID}
}

// age returns for how long the backup has been at work. What was before the end of a pause does
// not count.
func (w *work) age() time.Duration {
	since, s := w.backup.CreationTimestamp.Time, &w.backup.Status
	if s.StartTime != nil {
		since = s.StartTime.Time
	}
	switch {
	case w.wasPaused():
		return 0
	case s.ResumeTime != nil && s.ResumeTime.After(since):
		since = s.ResumeTime.Time
	}
	return w.now.Sub(since)
}
