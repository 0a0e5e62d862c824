package app

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/aggregate"
	"github.com/shopfleet/shopfleet/hub/placement"
)

// observe reads the input of the status from memory and decides the placement. The
// application was read before; see doc.go for why the reports come second. It returns
// false while a lost inventory is being recovered.
func (r *Reconciler) observe(ctx context.Context, app *v1.EcommerceApp) (aggregate.Input, bool, error) {
	members := &v1.MemberClusterList{}
	if err := r.client.List(ctx, members, client.UnsafeDisableDeepCopy); err != nil {
		return aggregate.Input{}, false, fmt.Errorf("listing members: %w", err)
	}
	in := aggregate.Input{
		Generation:  app.Generation,
		Deleting:    app.Ending(),
		Paused:      app.Spec.Paused && !app.Ending(),
		SafeMode:    r.safeMode,
		Held:        app.DeletionTimestamp != nil && app.Protected(),
		ReconcileAt: app.Annotations[v1.ReconcileAtAnnotation],

		HandledImageUpdate: v1.HandledImageUpdate(app.Annotations, app.Status.LastHandledImageUpdate),
		Backups:            r.backups.about(keyOf(app), app.UID),
		Previous:           *app.Status.DeepCopy(),
		Now:                metav1.NewTime(r.clock.Now()).Rfc3339Copy(),
	}
	var uncertain map[string]bool
	// An application without our finalizer is new.
	if app.InventoryLost() && controllerutil.ContainsFinalizer(app, v1.HubFinalizer) {
		found := r.recoverInventory(ctx, app, members.Items)
		if found.pending {
			return aggregate.Input{}, false, nil
		}
		in.Previous.Clusters, uncertain = found.entries, found.uncertain
	}
	rejected := r.decide(&in, app.Spec.Placement, members.Items)
	if in.Undecided = undecided(in, rejected, uncertain); len(in.Undecided) == 0 && app.InventoryLost() {
		in.Undecided = unobserved(in, app.Spec.Placement, members.Items)
	}
	if len(in.Undecided) > 0 {
		in.Previous.Clusters = app.Status.Clusters
		return in, true, nil
	}
	relevant := map[string]bool{}
	for _, name := range in.Chosen {
		relevant[name] = true
	}
	for _, entry := range in.Previous.Clusters {
		relevant[entry.Name] = true
	}
	for i := range members.Items {
		if !relevant[members.Items[i].Name] {
			continue
		}
		c, err := r.observeMember(ctx, app, &members.Items[i])
		if err != nil {
			return aggregate.Input{}, false, err
		}
		in.Clusters = append(in.Clusters, c)
	}
	return in, true, nil
}

// decide adds the placement's decision, and returns the clusters that it rejects. If none is
// possible, the application stays on its current clusters.
func (r *Reconciler) decide(in *aggregate.Input, spec v1.Placement, members []v1.MemberCluster) []placement.Rejection {
	var current []string
	for _, entry := range in.Previous.Clusters {
		if entry.Phase != v1.PhaseDeleting {
			current = append(current, entry.Name)
		}
	}
	clusters := make([]placement.Cluster, 0, len(members))
	for i := range members {
		c := candidate(&members[i])
		c.Paused = c.Paused || r.safeMode
		clusters = append(clusters, c)
	}
	decision, err := placement.Decide(spec, clusters, current)
	if err != nil {
		in.Invalid, in.Chosen = err.Error(), current
		return nil
	}
	in.Chosen, in.Rejected, in.Invalid = decision.Chosen, decision.Counts(), decision.Unmatched
	return decision.Rejected
}

func candidate(m *v1.MemberCluster) placement.Cluster {
	ready := readyOf(m)
	return placement.Cluster{
		Name: m.Name, Labels: m.Labels, Region: m.Status.Region, Provider: m.Status.Provider,
		Ready: ready.Status == metav1.ConditionTrue, Detached: isDetached(m), Paused: m.IsPaused(),
	}
}

// observeMember returns what is known of the application in one member.
func (r *Reconciler) observeMember(ctx context.Context, app *v1.EcommerceApp, m *v1.MemberCluster) (aggregate.Cluster, error) {
	ready := readyOf(m)
	c := aggregate.Cluster{
		Name: m.Name, Region: m.Status.Region, Provider: m.Status.Provider,
		Cause: ready.Reason, LastObserved: m.Status.LastObservedTime.DeepCopy(), LostSince: lostSince(m),
		Paused: m.IsPaused() || r.safeMode,
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
	processed, err := queue.Observe(ctx, app, &c)
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

// lostSince returns when the hub noticed that a member is lost, if it is: a member that was
// not ready before is no longer connected, and one whose agent is silent is not ready.
func lostSince(m *v1.MemberCluster) metav1.Time {
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
