package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/placement"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
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
		added = added || isRecorded && app.Status.EntryOf(name) == nil && !slices.Contains(recorded, name)
	}
	if !isNew && !added {
		return false
	}
	controllerutil.AddFinalizer(app, v1.HubFinalizer)
	setClustersAnnotation(app, names)
	return true
}

// keepClusters takes the clusters out of the decision that the application does not run in yet.
func (o *observation) keepClusters() {
	o.Chosen = slices.DeleteFunc(slices.Clone(o.Chosen), func(name string) bool { return o.Previous.EntryOf(name) == nil })
}

// isRecorded reports whether the metadata of an application lists the clusters of a status.
func isRecorded(app *v1.EcommerceApp, next *v1.EcommerceAppStatus) bool {
	recorded, is := app.RecordedClusters()
	return is && controllerutil.ContainsFinalizer(app, v1.HubFinalizer) &&
		!slices.ContainsFunc(next.Clusters, func(c v1.ClusterStatus) bool { return !slices.Contains(recorded, c.Name) })
}

// setClustersAnnotation lists clusters in the metadata of an application, if they fit.
func setClustersAnnotation(app *v1.EcommerceApp, names []string) {
	if len(names) > maxRecorded {
		delete(app.Annotations, v1.ClustersAnnotation)
		return
	}
	if app.Annotations == nil {
		app.Annotations = map[string]string{}
	}
	app.Annotations[v1.ClustersAnnotation] = strings.Join(names, ",")
}

// hasLostInventory reports whether an inventory is to be recovered. An application without our finalizer is new, and so
// is one whose first status is about to be written.
func (r *Reconciler) hasLostInventory(app *v1.EcommerceApp) bool {
	return app.InventoryLost() && controllerutil.ContainsFinalizer(app, v1.HubFinalizer) && r.state.Ahead(app) == nil
}

// recoverInventory looks for copies of an application whose status was lost in the members that may hold one.
func (r *Reconciler) recoverInventory(ctx context.Context, app *v1.EcommerceApp, members []v1.MemberCluster) *recovery.Inventory {
	found := recovery.InventoryOf(app)
	for i := range members {
		m := &members[i]
		if isDetached(m) {
			continue
		}
		queue := r.dispatcher.Get(m.Name)
		if found.Asks(recovery.Candidate{
			Name: m.Name, Connected: queue != nil, Cached: queue != nil && queue.HasCopy(ctx, app),
			Ready: readyOf(m).Status, Observed: m.Status.ClusterUID != "" && m.Status.Provider != "",
		}) {
			found.Add(m.Name, queue.Find(app))
		}
	}
	return found
}

// excess returns the clusters that a placement rejects because of spec.placement.maxClusters.
func excess(rejected []placement.Rejection) []string {
	var names []string
	for _, r := range rejected {
		if r.Reason == v1.ReasonMaxClustersReached {
			names = append(names, r.Name)
		}
	}
	return names
}
