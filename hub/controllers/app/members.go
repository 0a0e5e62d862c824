package app

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/controllers/app/dispatch"
	"github.com/shopfleet/shopfleet/hub/placement"
)

// onMember enqueues the applications that a change of a member concerns, and the member's queue,
// because copies contain facts about their member. A member that is new, or gone, concerns all.
func (c *Controller) onMember(r *Reconciler) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(ctx context.Context, member client.Object, q queue, concerned func(*v1.EcommerceApp) bool) {
		if member.GetDeletionTimestamp() != nil {
			c.options.Metrics.forgetMember(member.GetName())
		}
		c.dispatcher.Revisit(ctx, member.GetName())
		for _, request := range r.appsWhere(ctx, concerned) {
			q.Add(request)
		}
	}
	all := func(*v1.EcommerceApp) bool { return true }
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, e.Object, q, all) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, e.Object, q, all) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, okBefore := e.ObjectOld.(*v1.MemberCluster)
			after, okAfter := e.ObjectNew.(*v1.MemberCluster)
			if okBefore && okAfter && memberChanged(before, after) {
				enqueue(ctx, after, q, func(app *v1.EcommerceApp) bool {
					return concerns(app, before, after) || c.dispatcher.IsUndecided(keyOf(app))
				})
			}
		},
	}
}

// memberFacts is the part of a member that affects applications.
type memberFacts struct {
	Labels   map[string]string
	Detached bool
	Paused   bool
	Region   string
	Provider v1.Provider
	Ready    metav1.ConditionStatus
	Reason   string
	// Capabilities and Authorized end failures that dispatch reports.
	Capabilities []string
	Authorized   bool
	LastObserved *metav1.Time
}

func factsOf(m *v1.MemberCluster) memberFacts {
	ready := readyOf(m)
	facts := memberFacts{
		Labels: m.Labels, Detached: isDetached(m), Paused: m.IsPaused(), Region: m.Status.Region, Provider: m.Status.Provider,
		Ready: ready.Status, Reason: ready.Reason, Capabilities: m.Status.Capabilities,
		Authorized: meta.IsStatusConditionTrue(m.Status.Conditions, v1.ConditionAuthorized),
	}
	if ready.Status != metav1.ConditionTrue {
		facts.LastObserved = m.Status.LastObservedTime
	}
	return facts
}

// memberChanged reports whether a change of a member can affect an application. Capacity, which
// changes often, does not.
func memberChanged(before, after *v1.MemberCluster) bool {
	return !equality.Semantic.DeepEqual(factsOf(before), factsOf(after))
}

// concerns reports whether a change of a member can affect an application: one that it runs or
// may run, or one whose placement decides otherwise now.
func concerns(app *v1.EcommerceApp, before, after *v1.MemberCluster) bool {
	return app.InventoryLost() || dispatch.EntryOf(app, after.Name) != nil ||
		placement.Affects(app.Spec.Placement, candidate(before), candidate(after))
}
