package placement

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Affects reports whether a change of a cluster that does not run an application can change the
// clusters chosen for it. Another reason to reject the cluster does not, and no change does while the application
// runs in as many clusters as it may. A cluster that does not exist counts as a detached one. Free capacity does
// not count: it decides when clusters are chosen, and changes all the time. It allocates nothing.
func Affects(app *v1.EcommerceApp, before, after *Cluster) bool {
	return matters(&app.Spec.Placement, before, after) && !isFull(app, after.Name)
}

// matters reports whether a change of a cluster matters to a placement that may choose it.
func matters(spec *v1.Placement, before, after *Cluster) bool {
	c := criteria{Placement: spec}
	was, is := c.reject(before, false) == "", c.reject(after, false) == ""
	if was != is || !is {
		return was != is
	}
	if weightOf(before, c.Preferences) != weightOf(after, c.Preferences) {
		return true
	}
	return !inSameDomains(spec.Spread, before, after)
}

// isFull reports whether an application runs in as many clusters as it may, none of which is the other one, and
// its last decision, which was about the present spec, left nothing pending. Decide keeps those clusters then,
// whatever others match: they come first, and only an edit or a skew lets one matter that is not chosen. The
// generation tells an edit, since hashing each placement would cost garbage. A change of one of those clusters
// enqueues the application by itself, and so does the status that is written for it.
func isFull(app *v1.EcommerceApp, other string) bool {
	spec, entries := &app.Spec.Placement, app.Status.Clusters
	if len(entries) != limitOf(spec) || app.InventoryLost() {
		return false
	}
	placed := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionPlaced)
	if placed == nil || placed.Status != metav1.ConditionTrue || placed.Reason != v1.ReasonPlaced || placed.ObservedGeneration != app.Generation {
		return false
	}
	for i := range entries {
		if entries[i].Phase == v1.PhaseDeleting || entries[i].Name == other {
			return false
		}
	}
	for i := range spec.Spread {
		if spec.Spread[i].MaxSkew > 0 {
			return false
		}
	}
	return true
}

// inSameDomains reports whether two clusters are the same to a spread.
func inSameDomains(spread []v1.Spread, a, b *Cluster) bool {
	same := true
	for i := range spread {
		switch spread[i].Topology {
		case v1.TopologyRegion:
			same = same && a.Region == b.Region
		case v1.TopologyProvider:
			same = same && a.Provider == b.Provider
		case v1.TopologyZone:
			same = same && slices.Equal(a.Zones, b.Zones)
		}
	}
	return same
}
