package placement

import (
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Affects reports whether a change of a cluster that does not run an application can change the
// clusters chosen for it. Another reason to reject the cluster does not. A cluster that does not
// exist counts as a detached one. Free capacity does not count: it decides when clusters are chosen, and
// changes all the time. It allocates nothing.
func Affects(spec *v1.Placement, before, after *Cluster) bool {
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
