package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/placement"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// observation is the input of the status.
type observation struct {
	aggregate.Input
	// stored is the Decision that the stored status says.
	stored *state.Decision
	// isNew is true if no status has recorded clusters of the application, and none was lost.
	isNew bool
	// isAwaited is true if orders can only be handed over after the status was written.
	isAwaited bool
	// recovering is true while a lost inventory is being recovered. There is no input then.
	recovering bool
	// until is when placement and rollout are to be decided again; zero if nothing but an event changes
	// them.
	until time.Time
	// specAnswered is true if the decision is about the revision of the spec. While a cluster connects, the last decision stays.
	specAnswered bool
	// rollbackDecided is true if v1.RollbackToAnnotation was considered in the decision.
	rollbackDecided bool
	// request and decision are those of the placement; empty if it could not be decided.
	request  placement.Request
	decision placement.Decision
}

// wait returns how long until the application is to be reconciled again; 0 if nothing but an event
// demands it.
func (o *observation) wait() time.Duration {
	if o.until.IsZero() {
		return 0
	}
	return max(o.until.Sub(o.Now.Time), 0)
}

// observe reads the input of the status from memory and decides the placement. The
// application was read before the results of the queues, so these are never older than it.
func (r *Reconciler) observe(ctx context.Context, app *v1.EcommerceApp) (observation, error) {
	members := &v1.MemberClusterList{}
	if err := r.client.List(ctx, members, client.UnsafeDisableDeepCopy); err != nil {
		return observation{}, fmt.Errorf("listing members: %w", err)
	}
	in := observation{Input: aggregate.Input{
		Key:               keyOf(app),
		Generation:        app.Generation,
		Deleting:          app.Ending(),
		Paused:            app.Spec.Paused && !app.Ending(),
		SafeMode:          r.safeMode,
		ProtectedDeletion: app.DeletionTimestamp != nil && app.Protected(),
		ReconcileAt:       app.Annotations[v1.ReconcileAtAnnotation],

		HandledImageUpdate: v1.HandledImageUpdate(app.Annotations, app.Status.LastHandledImageUpdate),
		Backups:            r.state.Backups(keyOf(app), app.UID),
		Previous:           *app.Status.DeepCopy(),
		Now:                metav1.NewTime(r.clock.Now()).Rfc3339Copy(),
	}}
	in.stored = r.dispatcher.DecisionOf(app, &app.Status)
	in.isNew = app.InventoryLost() && !r.hasLostInventory(app)
	var lost *recovery.Inventory
	if last := r.state.Ahead(app); last != nil {
		in.Previous.Clusters = entriesOf(last)
	} else if r.hasLostInventory(app) {
		lost = r.recoverInventory(ctx, app, members.Items)
		if lost.Pending {
			return observation{recovering: true}, nil
		}
		in.Previous.Clusters = lost.Entries
	}
	relevant := map[string]bool{}
	for _, entry := range in.Previous.Clusters {
		relevant[entry.Name] = true
	}
	if err := r.observeMembers(ctx, app, members.Items, &in, relevant); err != nil {
		return observation{}, err
	}
	r.decide(&in, app, members.Items)
	if lost != nil && !in.Deleting {
		in.Unanswered = lost.Unanswered(app.Spec.Placement, in.Chosen, excess(in.decision.Rejected))
	}
	if len(in.Unanswered) > 0 {
		in.Previous.Clusters, in.Clusters = app.Status.Clusters, nil
		return in, nil
	}
	added := map[string]bool{}
	for _, name := range in.Chosen {
		added[name] = !relevant[name]
	}
	if err := r.observeMembers(ctx, app, members.Items, &in, added); err != nil {
		return observation{}, err
	}
	return in, nil
}

// entriesOf returns an entry for each cluster that may have got a copy by a Decision that no status has yet. The metadata
// lists them too, with those that have left since, and without the origins that wait for the user: of a cluster that is
// not connected its origin would be lost, and the copies of others not wait for it any more.
func entriesOf(d *state.Decision) []v1.ClusterStatus {
	entries := make([]v1.ClusterStatus, 0, len(d.Orders))
	for _, name := range slices.Sorted(maps.Keys(d.Orders)) {
		entries = append(entries, v1.ClusterStatus{Name: name, UnknownOrigin: d.Unknown[name]})
	}
	return entries
}

// observeMembers adds what is known of the application in some members.
func (r *Reconciler) observeMembers(ctx context.Context, app *v1.EcommerceApp, members []v1.MemberCluster, in *observation, named map[string]bool) error {
	for i := range members {
		if !named[members[i].Name] {
			continue
		}
		c, err := r.observeMember(ctx, app, &members[i], in.stored)
		if err != nil {
			return err
		}
		in.Clusters = append(in.Clusters, c.Bounded())
	}
	return nil
}

// decide adds the placement's decision. If none is possible, the application stays on its current
// clusters.
func (r *Reconciler) decide(in *observation, app *v1.EcommerceApp, members []v1.MemberCluster) {
	known := map[string]*aggregate.Copy{}
	for i := range in.Clusters {
		if c := &in.Clusters[i]; c.Connection == aggregate.Connected {
			known[c.Name] = c.Copy
		}
	}
	clusters := make([]placement.Cluster, 0, len(members))
	for i := range members {
		c := placement.ClusterOf(&members[i], in.Now.Time)
		c.Paused = c.Paused || r.safeMode
		clusters = append(clusters, c)
	}
	request := placement.RequestOf(app, clusters, in.Now.Time)
	request.Current = nil
	var current []string
	for _, entry := range in.Previous.Clusters {
		if entry.Phase == v1.PhaseDeleting {
			continue
		}
		request.Current = append(request.Current, currentOf(&entry, known))
		current = append(current, entry.Name)
	}
	decision, err := placement.Decide(request)
	if last := in.Previous.Placement; last != nil {
		in.PlacementHash = last.SpecHash
	}
	if err != nil {
		in.Invalid, in.Chosen = err.Error(), current
		return
	}
	in.request, in.decision = request, decision
	in.Chosen, in.Rejected, in.Invalid = decision.Chosen, decision.Counts(), decision.Unmatched
	if !decision.Pending() {
		in.PlacementHash = placement.Hash(app.Spec.Placement)
	}
	in.Shares = decision.Shares
	in.StayReason, in.StayMessage = decision.Explain()
	in.Unmet, in.until = decision.Unmet, decision.Until
}

// currentOf returns what is known of a cluster that runs the application: its copy, or the entry where
// that is not observed. A copy that is being deleted is about to serve no customer.
func currentOf(entry *v1.ClusterStatus, copies map[string]*aggregate.Copy) placement.Current {
	c := placement.CurrentOf(entry)
	c.Idle = false
	observed, is := copies[entry.Name]
	if !is {
		return c
	}
	c.Serving = observed != nil && !observed.Deleting && aggregate.IsAvailable(observed.Status)
	// A copy without a status says nothing about customers.
	unknown := observed != nil && !observed.Deleting && len(observed.Status.Conditions) == 0
	c.Idle, c.Frontend, c.Backend = !c.Serving && !unknown, 0, 0
	if observed == nil {
		return c
	}
	for _, component := range observed.Status.Components {
		switch component.Name {
		case "frontend":
			c.Frontend = component.ReadyReplicas
		case "backend":
			c.Backend = component.ReadyReplicas
		}
	}
	return c
}

// observeMember returns what is known of the application in one member, where what the stored status says is given.
func (r *Reconciler) observeMember(ctx context.Context, app *v1.EcommerceApp, m *v1.MemberCluster, stored *state.Decision) (aggregate.Cluster, error) {
	ready := readyOf(m)
	c := aggregate.Cluster{
		Name: m.Name, Region: m.Status.Region, Provider: m.Status.Provider,
		Cause: ready.Reason, LastObserved: m.Status.LastObservedTime.DeepCopy(), ConnectionSince: connectionSince(m),
		Paused: m.IsPaused() || r.safeMode,
	}
	if db, err := revisions.Database(app, m); err == nil {
		c.Database = db // The copy says why it cannot be known.
	}
	queue := r.dispatcher.Get(m.Name)
	switch {
	case isDetached(m):
		c.Connection = aggregate.Detached
		return c, nil
	case queue == nil && ready.Status == metav1.ConditionTrue:
		c.Connection = aggregate.Connecting
		return c, nil
	case queue == nil:
		c.Connection = aggregate.Lost
		return c, nil
	}
	processed, err := queue.Observe(ctx, stored, &c)
	switch {
	case err != nil:
		return c, err
	case !processed:
		c.Connection = aggregate.Connecting
	case isSilent(m):
		// The cluster answers, but the status of its copies is outdated.
		c.Connection = aggregate.Lost
	}
	return c, nil
}

// isSilent reports whether a member's agent does not update the status of copies.
func isSilent(m *v1.MemberCluster) bool {
	ready := readyOf(m)
	return ready.Status != metav1.ConditionTrue &&
		(ready.Reason == v1.ReasonAgentSilent || ready.Reason == v1.ReasonAgentMissing)
}

// connectionSince returns since when a member is connected, or when the hub noticed that it is lost: a member that was
// not ready before is no longer connected, and one whose agent is silent is not ready.
func connectionSince(m *v1.MemberCluster) metav1.Time {
	since := readyOf(m).LastTransitionTime
	if c := meta.FindStatusCondition(m.Status.Conditions, v1.ConditionConnected); c != nil && c.LastTransitionTime.After(since.Time) {
		since = c.LastTransitionTime
	}
	return since
}

// isDetached reports whether a member has left the fleet, or is about to.
func isDetached(m *v1.MemberCluster) bool {
	return m.DeletionTimestamp != nil || readyOf(m).Reason == v1.ReasonSecretNotFound
}

func readyOf(m *v1.MemberCluster) metav1.Condition {
	if c := meta.FindStatusCondition(m.Status.Conditions, v1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{Status: metav1.ConditionUnknown, Reason: v1.ReasonConnecting}
}
