package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/copies"
	"github.com/shopfleet/shopfleet/hub/app/placement"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// maxRecorded is the number of clusters from which v1.ClustersAnnotation is left out. Without it,
// an inventory that was lost is looked for in all members.
const maxRecorded = 500

// writeAhead stores the metadata of a pass in one patch, before any copy is written: what prepare changed, and, with the
// finalizer, the clusters that a decision adds to the inventory. If that fails the application is as before, and
// unrecorded reports whether its new clusters have to wait.
func (r *Reconciler) writeAhead(ctx context.Context, before, app *v1.EcommerceApp, next v1.EcommerceAppStatus) (unrecorded bool, err error) {
	unrecorded = addClusters(app, next)
	if equality.Semantic.DeepEqual(before.ObjectMeta, app.ObjectMeta) {
		return false, nil
	}
	if err := r.patch(ctx, before, app); err != nil {
		app.ObjectMeta = before.ObjectMeta
		return unrecorded, fmt.Errorf("writing the metadata of the decision: %w", err)
	}
	if app.ResourceVersion == before.ResourceVersion {
		app.ObjectMeta = before.ObjectMeta // The application is gone: nothing is recorded.
	}
	return false, nil
}

// addClusters adds the finalizer to an application that is new, and the clusters of a status to those that are recorded.
// It reports whether there are any to add.
func addClusters(app *v1.EcommerceApp, next v1.EcommerceAppStatus) bool {
	isNew := !controllerutil.ContainsFinalizer(app, v1.HubFinalizer)
	recorded, isRecorded := app.RecordedClusters()
	names := make([]string, 0, len(next.Clusters))
	added := false
	for i := range next.Clusters {
		name := next.Clusters[i].Name
		names = append(names, name)
		added = added || isRecorded && copies.EntryOf(app, name) == nil && !slices.Contains(recorded, name)
	}
	if !isNew && !added {
		return false
	}
	controllerutil.AddFinalizer(app, v1.HubFinalizer)
	record(app, names)
	return true
}

// keepClusters takes the clusters out of the decision that the application does not run in yet.
func (o *observation) keepClusters() {
	o.Chosen = slices.DeleteFunc(slices.Clone(o.Chosen), func(name string) bool { return o.Previous.EntryOf(name) == nil })
}

// ahead returns the Decision whose clusters are recorded in the metadata of an application and not in its status
// yet, or nil.
func (r *Reconciler) ahead(app *v1.EcommerceApp) *state.Decision {
	if last := r.state.Decision(keyOf(app)); last.IsOf(app.UID) && last.Ahead && app.InventoryLost() {
		return last
	}
	return nil
}

// isRecorded reports whether the metadata of an application lists the clusters of a status.
func isRecorded(app *v1.EcommerceApp, next *v1.EcommerceAppStatus) bool {
	recorded, is := app.RecordedClusters()
	return is && controllerutil.ContainsFinalizer(app, v1.HubFinalizer) &&
		!slices.ContainsFunc(next.Clusters, func(c v1.ClusterStatus) bool { return !slices.Contains(recorded, c.Name) })
}

// record sets v1.ClustersAnnotation.
func record(app *v1.EcommerceApp, names []string) {
	if len(names) > maxRecorded {
		delete(app.Annotations, v1.ClustersAnnotation)
		return
	}
	if app.Annotations == nil {
		app.Annotations = map[string]string{}
	}
	app.Annotations[v1.ClustersAnnotation] = strings.Join(names, ",")
}

// inventory is the recovered list of clusters of an application whose status was lost.
type inventory struct {
	// entries are the clusters that hold a copy, or may hold one.
	entries []v1.ClusterStatus
	// uncertain are the clusters among them whose copies could not be checked.
	uncertain map[string]bool
	// pending is true while members have yet to answer, or to be found unreachable.
	pending bool
}

// hasLostInventory reports whether an inventory is to be recovered. An application without our finalizer is new, and so
// is one whose first status is about to be written.
func (r *Reconciler) hasLostInventory(app *v1.EcommerceApp) bool {
	return app.InventoryLost() && controllerutil.ContainsFinalizer(app, v1.HubFinalizer) && r.ahead(app) == nil
}

// recoverInventory looks for copies of an application in the members that are recorded in its
// metadata, or in all if none are, and in those that may hold one all the same. A member that
// cannot be checked may hold one, so it gets an entry, which keeps the finalizer in place.
func (r *Reconciler) recoverInventory(ctx context.Context, app *v1.EcommerceApp, members []v1.MemberCluster) inventory {
	found := inventory{entries: slices.Clone(app.Status.Clusters), uncertain: map[string]bool{}}
	recorded, isRecorded := app.RecordedClusters()
	for i := range members {
		m := &members[i]
		if isDetached(m) || copies.EntryOf(app, m.Name) != nil {
			continue
		}
		queue := r.dispatcher.Get(m.Name)
		if queue == nil && readyOf(m).Status == metav1.ConditionTrue {
			found.pending = true
			continue
		}
		if isRecorded && !slices.Contains(recorded, m.Name) && r.lacks(ctx, app, m) {
			continue
		}
		presence := state.Uncertain
		if queue != nil {
			presence = queue.Find(app)
		}
		found.add(m.Name, presence)
	}
	return found
}

// lacks reports whether a member that is not recorded is taken not to hold a copy: its cache has
// none, or it is lost. One that the hub has not connected yet may hold one: the record may be
// that of an older backup.
func (r *Reconciler) lacks(ctx context.Context, app *v1.EcommerceApp, m *v1.MemberCluster) bool {
	if queue := r.dispatcher.Get(m.Name); queue != nil {
		return !queue.Holds(ctx, app)
	}
	return readyOf(m).Status == metav1.ConditionFalse
}

func (i *inventory) add(member string, presence state.Presence) {
	entry := v1.ClusterStatus{Name: member}
	switch presence {
	case state.NotLooked:
		i.pending = true
		return
	case state.Absent:
		return
	case state.Terminating:
		entry.Phase = v1.PhaseDeleting
	case state.Uncertain:
		i.uncertain[member] = true
	case state.Present:
	}
	i.entries = append(i.entries, entry)
}

// undecided returns the clusters that must answer before the placement can be decided,
// sorted. There are some if spec.placement.maxClusters would keep a cluster that may hold
// a copy in place of one that holds, or may hold, another: the wrong choice deletes a
// running copy.
func undecided(in aggregate.Input, rejected []placement.Rejection, uncertain map[string]bool) []string {
	if in.Deleting || !slices.ContainsFunc(in.Chosen, func(name string) bool { return uncertain[name] }) {
		return nil
	}
	dropped := slices.ContainsFunc(rejected, func(r placement.Rejection) bool {
		return r.Reason == v1.ReasonMaxClustersReached && slices.ContainsFunc(in.Previous.Clusters, func(c v1.ClusterStatus) bool {
			return c.Name == r.Name && c.Phase != v1.PhaseDeleting
		})
	})
	if !dropped {
		return nil
	}
	var names []string
	for name := range uncertain {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// unobserved returns the clusters that hold a copy, or may hold one, and whose region and
// provider are not known although the placement depends on them, sorted: their status was
// lost too. Rejecting them deletes a running copy, and choosing them may create one.
func unobserved(in aggregate.Input, spec v1.Placement, members []v1.MemberCluster) []string {
	if in.Deleting || len(spec.Regions)+len(spec.Providers)+len(spec.Spread) == 0 && spec.ClusterSelector == nil {
		return nil
	}
	var names []string
	for i := range members {
		m := &members[i]
		held := slices.ContainsFunc(in.Previous.Clusters, func(c v1.ClusterStatus) bool {
			return c.Name == m.Name && c.Phase != v1.PhaseDeleting
		})
		named := len(spec.ClusterNames) == 0 || slices.Contains(spec.ClusterNames, m.Name)
		if held && named && !isDetached(m) && (m.Status.ClusterUID == "" || m.Status.Provider == "") {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}
