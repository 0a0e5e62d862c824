package aggregate

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Urgent tells whether a change of status must be written at once. What is not
// urgent is progress: components and clusters that become ready while the
// application as a whole is still on its way. It may wait a few seconds, to be
// written together with what follows.
func Urgent(before, after v1.EcommerceAppStatus) bool {
	if before.Phase != after.Phase ||
		before.ObservedGeneration != after.ObservedGeneration ||
		before.LastHandledReconcileAt != after.LastHandledReconcileAt ||
		!equality.Semantic.DeepEqual(before.Placement, after.Placement) {
		return true
	}
	for _, kind := range []string{v1.ConditionReady, v1.ConditionDegraded, v1.ConditionPlaced} {
		b, a := meta.FindStatusCondition(before.Conditions, kind), meta.FindStatusCondition(after.Conditions, kind)
		if (b == nil) != (a == nil) {
			return true
		}
		if b != nil && (b.Status != a.Status || b.Reason != a.Reason) {
			return true
		}
	}
	return urgentClusters(before.Clusters, after.Clusters)
}

// urgentClusters tells whether a cluster came, was lost, returned, failed,
// recovered, or has to be left. One that is gone is progress: its entry does no
// harm while it stays.
func urgentClusters(before, after []v1.ClusterStatus) bool {
	old := byName(before)
	for _, c := range after {
		b, existed := old[c.Name]
		if !existed || urgentPhase(b.Phase) != urgentPhase(c.Phase) || b.Stale != c.Stale || (b.Ready && !c.Ready) {
			return true
		}
	}
	return false
}

// urgentPhase folds the phases between which there is only progress.
func urgentPhase(p v1.Phase) v1.Phase {
	switch p {
	case v1.PhaseFailed, v1.PhaseUnknown, v1.PhaseDeleting:
		return p
	default:
		return ""
	}
}
