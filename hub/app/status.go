package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/copies"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// statusPeriod is the time in which the status of an application is written once.
const statusPeriod = time.Second

// writeStatus writes the status if it changed: at once, but once in a statusPeriod, and mere progress as retry.Progress
// says.
func (r *Reconciler) writeStatus(ctx context.Context, app *v1.EcommerceApp, in *observation, next v1.EcommerceAppStatus) (reconcile.Result, error) {
	last := app.Status
	if equality.Semantic.DeepEqual(last, next) {
		return reconcile.Result{}, nil
	}
	if rest := r.delay(app, next, in.isAwaited); rest > 0 {
		return reconcile.Result{RequeueAfter: rest}, nil
	}
	before := app.DeepCopy()
	err := r.patchStatus(ctx, before, app, next)
	if apierrors.IsInvalid(err) {
		in.StatusRejection = statusRejection(err, &next)
		log.FromContext(ctx).Error(err, "The API server refuses a status, which is written without what members report")
		if next = aggregate.Compute(in.Input); equality.Semantic.DeepEqual(last, next) {
			app.Status = last
			r.state.StatusWritten(keyOf(app)) // What is rejected is sent as rarely.
			return reconcile.Result{}, nil
		}
		err = r.patchStatus(ctx, before, app, next)
	}
	if err != nil {
		if client.IgnoreNotFound(err) == nil {
			app.Status = last // The application is gone: nothing more is handed over.
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("writing the status: %w", err)
	}
	r.state.StatusWritten(keyOf(app))
	r.state.Written(app, before.ResourceVersion)
	r.recordEvents(app, in.Input, last)
	return reconcile.Result{}, nil
}

// patchStatus writes a status of an application in place of the one before.
func (r *Reconciler) patchStatus(ctx context.Context, before, app *v1.EcommerceApp, next v1.EcommerceAppStatus) error {
	// The response is decoded into it, and next shares fields with what is cached.
	next.DeepCopyInto(&app.Status)
	return r.client.Status().Patch(ctx, app, retry.MergeFromLocked(before))
}

// statusRejection describes an error about a status that is invalid.
func statusRejection(err error, status *v1.EcommerceAppStatus) string {
	var fields []string
	cause := "the status is invalid"
	if refused := apierrors.APIStatus(nil); errors.As(err, &refused) && refused.Status().Details != nil {
		for i, c := range refused.Status().Details.Causes {
			fields = append(fields, c.Field)
			if i == 0 {
				cause = c.Field + ": " + c.Message
			}
		}
	}
	return aggregate.StatusRejection(status, fields, cause)
}

// delay returns how long a change of status waits for others that are written with it, the first status for the copies. It is
// awaited if orders can only be handed over after it was written.
func (r *Reconciler) delay(app *v1.EcommerceApp, next v1.EcommerceAppStatus, awaited bool) time.Duration {
	last, written, now := app.Status, r.state.LastStatus(keyOf(app)), r.clock.Now()
	switch {
	case revokesDeletion(last, next):
		return 0
	case last.LastUpdated != nil && !aggregate.Urgent(last, next):
		if written.IsZero() {
			written = last.LastUpdated.Time
		}
		if awaited {
			return r.progress.UntilAwaited(now, written)
		}
		return r.progress.Until(now, written)
	default:
		return max(r.state.UntilResults(app, statusPeriod), retry.UntilNext(now, written, statusPeriod))
	}
}

// revokesDeletion reports whether a status keeps a copy that the one before has deleted: until it is stored the queue of
// the member may carry the order out.
func revokesDeletion(last, next v1.EcommerceAppStatus) bool {
	return slices.ContainsFunc(last.Clusters, func(entry v1.ClusterStatus) bool {
		now := next.EntryOf(entry.Name)
		return entry.Phase == v1.PhaseDeleting && now != nil && now.Phase != v1.PhaseDeleting
	})
}

// recordEvents records events for transitions of the status.
func (r *Reconciler) recordEvents(app *v1.EcommerceApp, in aggregate.Input, last v1.EcommerceAppStatus) {
	next := app.Status
	stale := map[string]bool{}
	for _, entry := range last.Clusters {
		stale[entry.Name] = entry.Stale
	}
	for _, entry := range next.Clusters {
		if entry.Stale && !stale[entry.Name] {
			r.recorder.Eventf(app, copies.Subject(entry.Name), corev1.EventTypeWarning, v1.ReasonClusterUnreachable, "Observe", "%s: %s", entry.Name, entry.Message)
		}
	}
	r.recordStatusRejected(app, last)
	r.recordDetached(app, in, next)
	r.recordRollout(app, aboutRevision, last.Rollout, next.Rollout)
	r.recordRollout(app, aboutTemplates, last.Rendering, next.Rendering)
	r.recordLeftBehind(app, aboutRevision, last.Rollout, next.Rollout)
	r.recordLeftBehind(app, aboutTemplates, last.Rendering, next.Rendering)
	if now := placed(next); now != "" && now != placed(last) {
		r.recorder.Eventf(app, nil, corev1.EventTypeNormal, v1.ReasonPlaced, "Place", "Placed on %s", now)
	}
	if next.Phase == v1.PhasePending && (last.Phase != v1.PhasePending || last.LastUpdated == nil) {
		r.recorder.Eventf(app, nil, corev1.EventTypeWarning, "NotPlaced", "Place", "%s", next.Message)
	}
	if next.Phase == v1.PhaseRunning && last.Phase != v1.PhaseRunning {
		r.recorder.Eventf(app, nil, corev1.EventTypeNormal, v1.ReasonRunning, "Observe", "%s in %s", next.Message, placed(next))
	}
}

// recordStatusRejected records that the API server began to reject what members report.
func (r *Reconciler) recordStatusRejected(app *v1.EcommerceApp, last v1.EcommerceAppStatus) {
	now := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionStatusRejected)
	if now != nil && meta.FindStatusCondition(last.Conditions, v1.ConditionStatusRejected) == nil {
		r.recorder.Eventf(app, nil, corev1.EventTypeWarning, v1.ReasonStatusRejected, "Observe", "%s", now.Message)
	}
}

// recordDetached records the clusters that were removed from an application because they
// left the fleet.
func (r *Reconciler) recordDetached(app *v1.EcommerceApp, in aggregate.Input, next v1.EcommerceAppStatus) {
	attached := map[string]bool{}
	for _, c := range in.Clusters {
		attached[c.Name] = c.Connection != aggregate.Detached
	}
	for _, entry := range in.Previous.Clusters {
		left := !slices.ContainsFunc(next.Clusters, func(c v1.ClusterStatus) bool { return c.Name == entry.Name })
		if left && !in.Deleting && !attached[entry.Name] {
			r.recorder.Eventf(app, copies.Subject(entry.Name), corev1.EventTypeWarning, v1.ReasonClusterDetached, "Place",
				"%s has left the fleet; its workloads keep running unmanaged", entry.Name)
		}
	}
}

// placed lists the clusters that an application is on, for messages.
func placed(s v1.EcommerceAppStatus) string {
	const most = 10
	var names []string
	for _, entry := range s.Clusters {
		if entry.Phase != v1.PhaseDeleting {
			names = append(names, entry.Name)
		}
	}
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
