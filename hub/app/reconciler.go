package app

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/copies"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	runtimecontroller "github.com/shopfleet/shopfleet/spoke/runtime/controller"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// Reconciler decides about applications. It sends requests to the hub only.
type Reconciler struct {
	client client.Client
	// reader reads from the API server.
	reader     client.Reader
	dispatcher *copies.Dispatcher
	clock      clock.PassiveClock
	recorder   events.EventRecorder
	state      *state.State
	revisions  *revisions.Store
	waits      retry.Waits
	// rendering is Options.Rendering.
	rendering string
	// safeMode is Options.SafeMode.
	safeMode bool
	// queue enqueues an application for the time at which its next pass is due, if a part of the present one failed.
	queue *runtimecontroller.Queue
	// progress paces the writes of mere progress.
	progress *retry.Progress
}

// Reconcile updates the status of one application.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	app := &v1.EcommerceApp{}
	if err := r.client.Get(ctx, request.NamespacedName, app); err != nil {
		if apierrors.IsNotFound(err) {
			r.dispatcher.Forget(request.NamespacedName)
		}
		return r.retry(request, reconcile.Result{}, client.IgnoreNotFound(err))
	}
	if r.state.IsBehind(app) {
		// The watch will deliver what was written, and with it comes the next decision.
		return reconcile.Result{}, nil
	}
	if rest := r.state.UntilResults(app, statusPeriod); rest > 0 {
		return reconcile.Result{RequeueAfter: rest}, nil
	}
	result, err := r.reconcile(ctx, app)
	result, err = r.retry(request, result, err)
	// Only the first pass after a start is less urgent than an edit. A request keeps its priority otherwise.
	result.Priority = new(0)
	return result, err
}

// retry returns what Reconcile returns for a result and an error that no condition reports.
func (r *Reconciler) retry(request reconcile.Request, result reconcile.Result, err error) (reconcile.Result, error) {
	return retry.Result(r.waits, r.state.CountConflict(request.NamespacedName, isConflict(err)), result, err)
}

// reconcile decides about an application, and hands the Decision over. An error in one part is returned after the
// status was written with the rest: otherwise it would show the former state of every cluster.
func (r *Reconciler) reconcile(ctx context.Context, app *v1.EcommerceApp) (reconcile.Result, error) {
	deleting := app.Ending()
	if app.DeletionTimestamp != nil && !controllerutil.ContainsFinalizer(app, v1.HubFinalizer) {
		return reconcile.Result{}, nil
	}
	before := *app
	before.ObjectMeta = *app.ObjectMeta.DeepCopy()
	r.prepare(app)
	if r.hasLostInventory(app) {
		r.state.ForgetDecision(keyOf(app))
	}
	in, err := r.observe(ctx, app)
	if err != nil || in.recovering {
		return reconcile.Result{}, err
	}
	var failed error
	in.Propagated, in.Unread, failed = r.dispatcher.Propagation().Observe(ctx, app)
	if err := r.decideRollout(ctx, app, &in); isConflict(err) {
		return reconcile.Result{}, err
	} else if err != nil {
		failed = errors.Join(failed, err)
	}
	r.decideRendering(app, &in)
	wait := retry.Sooner(abandon(app, in.Clusters, in.Now.Time), in.wait())
	next, err := r.compute(ctx, app, &in.Input)
	failed = errors.Join(failed, err)
	if deleting && len(next.Clusters) == 0 {
		return reconcile.Result{}, errors.Join(failed, r.release(ctx, app))
	}
	if next, err = r.writeMetadata(ctx, &before, app, &in, next); isConflict(err) {
		return reconcile.Result{}, err
	}
	failed = errors.Join(failed, err)
	result, err := r.carryOut(ctx, app, &in, next)
	if err != nil {
		return reconcile.Result{}, errors.Join(failed, err)
	}
	result.RequeueAfter = retry.Sooner(result.RequeueAfter, wait)
	return r.queue.AddDue(runtimecontroller.RequestFor(app), result, errors.Join(failed, r.removeHandled(ctx, app, &in)))
}

// carryOut hands the Decision over and writes the status. What the stored objects do not say yet is handed over after
// they do: another hub that starts in between would not know of it.
func (r *Reconciler) carryOut(ctx context.Context, app *v1.EcommerceApp, in *observation, next v1.EcommerceAppStatus) (reconcile.Result, error) {
	decision := r.dispatcher.DecisionOf(app, &next)
	decision.Ahead = in.isNew && app.Spec.Rollout == nil && app.DeletionTimestamp == nil && isRecorded(app, &next)
	// Without a stored revision the copies would get the spec at once; of a lost inventory the clusters are unknown.
	isDecided := len(in.Unanswered) == 0 && (in.Unrevised == nil || app.Status.Rollout != nil)
	isStored := isDecided && r.dispatcher.IsStored(app, decision)
	if isStored {
		r.dispatcher.HandOver(decision)
	}
	in.isAwaited = isDecided && !isStored
	version := app.ResourceVersion
	result, err := r.writeStatus(ctx, app, in, next)
	if err == nil && app.ResourceVersion != version && isDecided && !isStored {
		r.dispatcher.HandOver(decision)
	}
	return result, err
}

// writeMetadata writes the metadata of a decision before its copies, and returns the status to carry out. If the write fails,
// that is the status of the clusters that were recorded before, without a restart.
func (r *Reconciler) writeMetadata(ctx context.Context, before, app *v1.EcommerceApp, in *observation, next v1.EcommerceAppStatus) (v1.EcommerceAppStatus, error) {
	if app.DeletionTimestamp != nil {
		return next, nil
	}
	unrecorded, err := r.writeAhead(ctx, before, app, next)
	switch {
	case err == nil && app.Annotations[v1.RestartedAtAnnotation] != before.Annotations[v1.RestartedAtAnnotation]:
		r.recorder.Eventf(app, nil, corev1.EventTypeNormal, "ImageUpdated", "Restart",
			"Restarting backend and frontend, as requested by %s", v1.ImageUpdatedAnnotation)
	case err != nil && !isConflict(err):
		if unrecorded {
			in.keepClusters()
		}
		in.HandledImageUpdate = v1.HandledImageUpdate(app.Annotations, app.Status.LastHandledImageUpdate)
		next = aggregate.Compute(in.Input)
	}
	return next, err
}

// isConflict reports whether an error is a conflict, after which the next pass reads the object again.
func isConflict(err error) bool { return apierror.Classify(err) == apierror.Conflict }

// removeHandled removes the annotations that the decision has handled, with one patch.
func (r *Reconciler) removeHandled(ctx context.Context, app *v1.EcommerceApp, in *observation) error {
	before := *app
	before.ObjectMeta = *app.ObjectMeta.DeepCopy()
	if in.Unrevised == nil {
		r.endRollout(app, in)
	}
	err := r.withdrawMoves(ctx, app, in)
	if maps.Equal(before.Annotations, app.Annotations) {
		return err
	}
	if err := r.patch(ctx, &before, app); err != nil {
		app.Annotations = before.Annotations
		return fmt.Errorf("removing annotations that are handled: %w", err)
	}
	return err
}

// compute returns the next status. What an application leaves behind in members is recorded
// before the status leaves them out; where that fails it does not, and there is an error.
func (r *Reconciler) compute(ctx context.Context, app *v1.EcommerceApp, in *aggregate.Input) (v1.EcommerceAppStatus, error) {
	next := aggregate.Compute(*in)
	var err error
	if in.Unrecorded, err = r.recordResidue(ctx, app, residueIn(*in, next)); len(in.Unrecorded) > 0 {
		in.UnrecordedBy = apierror.Message(err)
		next = aggregate.Compute(*in)
	}
	return next, err
}

// release removes the finalizer of an application whose copies are all deleted, or
// recorded.
func (r *Reconciler) release(ctx context.Context, app *v1.EcommerceApp) error {
	if err := r.releaseBackups(ctx, app); err != nil {
		return err
	}
	before := app.DeepCopy()
	controllerutil.RemoveFinalizer(app, v1.HubFinalizer)
	if err := r.patch(ctx, before, app); err != nil {
		return fmt.Errorf("removing the finalizer: %w", err)
	}
	return nil
}

// patch writes the changes of metadata. It fails if the object was changed concurrently.
func (r *Reconciler) patch(ctx context.Context, before, app *v1.EcommerceApp) error {
	version := before.ResourceVersion
	// A merge patch replaces lists as a whole, so the resource version protects finalizers
	// of others.
	lock := retry.MergeFromLocked(before)
	if err := r.client.Patch(ctx, app, lock); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.state.Written(app, version)
	return nil
}
