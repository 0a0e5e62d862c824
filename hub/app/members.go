package app

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/app/placement"
	runtimecontroller "github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// onMember enqueues the applications that a change of a member concerns, and the member's queue,
// because copies contain facts about their member.
func (c *Controller) onMember() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(ctx context.Context, change memberChange, q queue) {
		for _, request := range slices.Concat(c.dispatcher.Revisit(ctx, change.after.Name), c.affected(change)) {
			q.Add(request)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			member, ok := e.Object.(*v1.MemberCluster)
			if ok && !e.IsInInitialList { // When the cache starts, it delivers every application.
				enqueue(ctx, memberChange{before: absent(member), after: candidate(member)}, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			if member, ok := e.Object.(*v1.MemberCluster); ok {
				c.options.Metrics.forgetMember(member.Name)
				enqueue(ctx, memberChange{before: candidate(member), after: absent(member)}, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, okBefore := e.ObjectOld.(*v1.MemberCluster)
			after, okAfter := e.ObjectNew.(*v1.MemberCluster)
			if !okBefore || !okAfter || !memberChanged(before, after) {
				return
			}
			if after.DeletionTimestamp != nil {
				c.options.Metrics.forgetMember(after.Name)
			}
			enqueue(ctx, memberChange{before: candidate(before), after: candidate(after)}, q)
		},
	}
}

// affected returns requests for the applications that a change of a member affects where it does not
// run them. It looks at each, which costs milliseconds for 10,000 and no garbage
// (BenchmarkAffected).
func (c *Controller) affected(change memberChange) []reconcile.Request {
	return runtimecontroller.RequestsOf(c.state.Where(change.affects)...)
}

// memberFacts is the part of a member that affects applications.
type memberFacts struct {
	Labels   map[string]string
	Detached bool
	Paused   bool
	Region   string
	Provider v1.Provider
	Zones    []string
	Ready    metav1.ConditionStatus
	Reason   string
	// Capabilities and Authorized end failures that dispatch reports.
	Capabilities []string
	Authorized   bool
	// Snapshots is true if databases are backed up by snapshots, where the method is Auto: the copy says so.
	Snapshots    bool
	LastObserved *metav1.Time
	Scheduling   v1.Scheduling
	Taints       []v1.Taint
	// TaintTimes decide when a toleration ends.
	TaintTimes []v1.TaintStatus
}

func factsOf(m *v1.MemberCluster) memberFacts {
	ready := readyOf(m)
	facts := memberFacts{
		Labels: m.Labels, Detached: isDetached(m), Paused: m.IsPaused(), Region: m.Status.Region, Provider: m.Status.Provider,
		Ready: ready.Status, Reason: ready.Reason, Capabilities: m.Status.Capabilities,
		Zones: m.Status.Zones, Scheduling: m.Spec.Scheduling, Taints: m.Spec.Taints, TaintTimes: m.Status.Taints,
		Authorized: meta.IsStatusConditionTrue(m.Status.Conditions, v1.ConditionAuthorized), Snapshots: csi.BySnapshots(v1.BackupAuto, m),
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

// memberChange is a change of a member as placements see it.
type memberChange struct {
	before, after placement.Cluster
}

// affects reports whether a change of a member can affect an application that it does not run: one
// whose placement decides otherwise now, or one that is not placed, whose status says why members
// are rejected.
func (c *memberChange) affects(app *v1.EcommerceApp) bool {
	return app.Status.ClusterCount == 0 || placement.Affects(app, &c.before, &c.after)
}

// candidate returns what placements see of a member. When its taints were added does not matter to an
// application that it does not run.
func candidate(m *v1.MemberCluster) placement.Cluster { return placement.ClusterOf(m, time.Time{}) }

// absent returns what placements see of a member that does not exist.
func absent(m *v1.MemberCluster) placement.Cluster {
	return placement.Cluster{Name: m.Name, Detached: true}
}
