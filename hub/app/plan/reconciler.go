package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// Reconcile answers a Plan, once, or deletes one that was answered a while ago.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result, err := r.reconcile(ctx, request)
	return retry.Result(r.options.Waits, 1, result, err) // It ends with the lifetime of the Plan.
}

func (r *Reconciler) reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	plan := &v1.Plan{}
	if err := r.client.Get(ctx, request.NamespacedName, plan); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if plan.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	// One that cannot be answered is not tried for ever.
	if plan.Status.CompletionTime != nil || r.options.Clock.Since(plan.CreationTimestamp.Time) > r.options.Waits.Scaled(lifetime) {
		return r.expire(ctx, plan)
	}
	before := plan.DeepCopy()
	next, err := r.answer(ctx, plan)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan.Status = next
	lock := retry.MergeFromLocked(before)
	if err := r.client.Status().Patch(ctx, plan, lock); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return reconcile.Result{}, nil // The user deleted it.
		}
		return reconcile.Result{}, fmt.Errorf("writing the status: %w", err)
	}
	return reconcile.Result{RequeueAfter: r.options.Waits.Scaled(lifetime)}, nil
}

// expire deletes a Plan when its time is over.
func (r *Reconciler) expire(ctx context.Context, plan *v1.Plan) (reconcile.Result, error) {
	began := cmp.Or(plan.Status.CompletionTime, &plan.CreationTimestamp)
	if rest := r.options.Waits.Scaled(lifetime) - r.options.Clock.Since(began.Time); rest > 0 {
		return reconcile.Result{RequeueAfter: rest}, nil
	}
	if err := r.client.Delete(ctx, plan, client.Preconditions{UID: &plan.UID}); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("deleting the Plan: %w", err)
	}
	return reconcile.Result{}, nil
}

// answer returns the status of a Plan. The error is about the hub, and passes.
func (r *Reconciler) answer(ctx context.Context, plan *v1.Plan) (v1.PlanStatus, error) {
	status, err := r.plan(ctx, plan)
	condition := metav1.Condition{
		Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonCompleted, ObservedGeneration: plan.Generation,
	}
	refused, is := errors.AsType[*apierror.SpecError](err)
	switch {
	case is:
		status = v1.PlanStatus{}
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, refused.Reason, v1.Excerpt(refused.Error(), maxMessage)
	case err != nil:
		return status, err
	}
	now := metav1.NewTime(r.options.Clock.Now())
	condition.LastTransitionTime, status.CompletionTime = now, &now
	status.ObservedGeneration = plan.Generation
	meta.SetStatusCondition(&status.Conditions, condition)
	return status, nil
}

// plan returns what would change, or an *apierror.SpecError if the Plan is refused.
func (r *Reconciler) plan(ctx context.Context, plan *v1.Plan) (v1.PlanStatus, error) {
	if err := r.checkPolicy(ctx, plan); err != nil {
		return v1.PlanStatus{}, err
	}
	planned, err := decode(plan)
	if err != nil {
		return v1.PlanStatus{}, err
	}
	live := &v1.EcommerceApp{}
	if err := r.reader.Get(ctx, client.ObjectKeyFromObject(planned), live); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return v1.PlanStatus{}, fmt.Errorf("reading the application: %w", err)
		}
		live = nil
	}
	if err := r.authorize(ctx, plan, planned.Name, live != nil); err != nil {
		return v1.PlanStatus{}, err
	}
	app, err := over(live, planned, plan.UID)
	if err != nil {
		return v1.PlanStatus{}, err
	}
	change, err := applicationChange(live, app)
	if err != nil {
		return v1.PlanStatus{}, err
	}
	placed, err := r.options.Place(ctx, app)
	if err != nil {
		return v1.PlanStatus{}, fmt.Errorf("deciding the placement: %w", err)
	}
	return statusOf(answers{
		application: change, before: live, placed: placed, clusters: r.inClusters(ctx, placed.App),
	}), nil
}
