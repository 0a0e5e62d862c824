package placement

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// keepUnknown keeps an application in a cluster that may match once its region and provider are known: one
// whose status was lost is no reason to delete what runs there.
func (c criteria) keepUnknown(of *candidate) {
	if of.stays != "" || !of.Unobserved || !c.mayMatch(of.Cluster, of.reason) {
		return
	}
	of.stays = v1.ReasonFactsUnknown
}

// mayMatch reports whether a cluster that is rejected for a reason may match once all is known of it.
func (c criteria) mayMatch(cluster *Cluster, reason string) bool {
	switch reason {
	case v1.ReasonRegionNotListed:
		return cluster.Region == ""
	case v1.ReasonProviderNotListed:
		return cluster.Provider == ""
	case v1.ReasonNotSelected:
		// The selector without what it says of facts that are unknown.
		selector := c.ClusterSelector.DeepCopy()
		unknown := func(key string) bool {
			return key == corev1.LabelTopologyRegion && cluster.Region == "" || key == v1.ProviderLabel && cluster.Provider == ""
		}
		maps.DeleteFunc(selector.MatchLabels, func(key, _ string) bool { return unknown(key) })
		selector.MatchExpressions = slices.DeleteFunc(selector.MatchExpressions, func(r v1.ClusterRequirement) bool { return unknown(r.Key) })
		return selects(selector, cluster)
	default:
		return false
	}
}
