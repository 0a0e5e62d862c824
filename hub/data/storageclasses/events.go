package storageclasses

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// memberChanged reports whether a member needs a pass: its provider, region, capabilities or permissions
// changed, or another client removed the condition. The controller's own writes do not count: it
// records what it wrote before the event arrives, and would write the same again.
func memberChanged(before, now *v1.MemberCluster) bool {
	removed := meta.FindStatusCondition(now.Status.Conditions, v1.ConditionStorageReady) == nil &&
		meta.FindStatusCondition(before.Status.Conditions, v1.ConditionStorageReady) != nil
	authorized := func(m *v1.MemberCluster) bool {
		return meta.IsStatusConditionTrue(m.Status.Conditions, v1.ConditionAuthorized)
	}
	// Overrides select members by label.
	return removed || !maps.Equal(before.Labels, now.Labels) || authorized(before) != authorized(now) || before.Generation != now.Generation ||
		before.Status.Provider != now.Status.Provider || before.Status.Region != now.Status.Region ||
		!slices.Equal(before.Status.Capabilities, now.Status.Capabilities)
}

// appChanges passes events of an application that change the classes that it needs.
func appChanges() predicate.Predicate {
	changes := controller.Changes(appChanged)
	// A class that no application needs any more stays: volumes may refer to it.
	changes.DeleteFunc = func(event.DeleteEvent) bool { return false }
	return changes
}

// appChanged reports whether an application needs other classes, or needs them in another cluster.
func appChanged(before, now *v1.EcommerceApp) bool {
	return !equality.Semantic.DeepEqual(before.Spec.CloudConfig, now.Spec.CloudConfig) ||
		!equality.Semantic.DeepEqual(before.Spec.Overrides, now.Spec.Overrides) || !maps.Equal(revisionsOf(before), revisionsOf(now))
}

// revisionsOf returns the revision of an application in each of its clusters.
func revisionsOf(app *v1.EcommerceApp) map[string]int64 {
	numbers := make(map[string]int64, len(app.Status.Clusters))
	for i := range app.Status.Clusters {
		numbers[app.Status.Clusters[i].Name] = app.Status.Clusters[i].Revision
	}
	return numbers
}

// clustersWithClass returns the clusters in which an application may need a class of its own, for the
// index appsByCluster: all if its spec may name one, and those that have another revision.
func clustersWithClass(o client.Object) []string {
	app, ok := o.(*v1.EcommerceApp)
	if !ok {
		return nil
	}
	own := app.Spec.CloudConfig != (v1.CloudConfig{}) ||
		slices.ContainsFunc(app.Spec.Overrides, func(o v1.Override) bool { return len(o.JSONPatches) > 0 })
	numbers := revisionsOf(app)
	maps.DeleteFunc(numbers, func(_ string, revision int64) bool {
		return !own && (app.Status.Rollout == nil || revision == 0 || revision == app.Status.Rollout.Revision)
	})
	return slices.Sorted(maps.Keys(numbers))
}
