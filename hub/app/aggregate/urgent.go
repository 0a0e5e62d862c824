package aggregate

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Urgent reports whether a change of status must be written immediately. Other changes
// are progress: components and clusters that become ready while the application as a
// whole does not. They may wait, for as long as retry.Progress says, to be written together with later ones. So may
// becoming available, but not ceasing to be, and so may the counts of rejected clusters.
func Urgent(before, after v1.EcommerceAppStatus) bool {
	if before.Phase != after.Phase || !equality.Semantic.DeepEqual(before.Rollout, after.Rollout) ||
		!equality.Semantic.DeepEqual(before.Rendering, after.Rendering) ||
		before.ObservedGeneration != after.ObservedGeneration ||
		before.LastHandledReconcileAt != after.LastHandledReconcileAt ||
		before.LastHandledImageUpdate != after.LastHandledImageUpdate {
		return true
	}
	for _, kind := range []string{v1.ConditionReady, v1.ConditionDegraded, v1.ConditionPlaced, v1.ConditionDeleting, v1.ConditionPropagated} {
		b, a := meta.FindStatusCondition(before.Conditions, kind), meta.FindStatusCondition(after.Conditions, kind)
		if (b == nil) != (a == nil) {
			return true
		}
		if b != nil && (b.Status != a.Status || b.Reason != a.Reason) {
			return true
		}
	}
	if meta.IsStatusConditionTrue(before.Conditions, v1.ConditionAvailable) && !meta.IsStatusConditionTrue(after.Conditions, v1.ConditionAvailable) {
		return true
	}
	return urgentClusters(before.Clusters, after.Clusters)
}

// urgentClusters reports whether a cluster was added, lost, recovered or failed, or must
// be left. The removal of an entry is not urgent.
func urgentClusters(before, after []v1.ClusterStatus) bool {
	old := byName(before)
	for _, c := range after {
		b, existed := old[c.Name]
		if !existed || urgentPhase(b.Phase) != urgentPhase(c.Phase) || b.Stale != c.Stale || (b.Ready && !c.Ready) {
			return true
		}
		if b.UnknownOrigin != c.UnknownOrigin || b.Revision != c.Revision || b.RenderingVersion != c.RenderingVersion || !equality.Semantic.DeepEqual(b.Share, c.Share) {
			return true // Other clusters wait for that, or the cluster itself.
		}
	}
	return false
}

// urgentPhase maps all phases between which a change is mere progress to an empty string.
func urgentPhase(p v1.Phase) v1.Phase {
	switch p {
	case v1.PhaseFailed, v1.PhaseUnknown, v1.PhaseDeleting, v1.PhasePaused:
		return p
	default:
		return ""
	}
}
