package aggregate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// RegionUnknown groups the clusters whose region is unknown.
const RegionUnknown = "unknown"

// phases returns all phases, the worst first.
func phases() []v1.Phase {
	return []v1.Phase{
		v1.PhaseFailed, v1.PhaseUnknown, v1.PhaseDeleting, v1.PhaseCreating, v1.PhasePending,
		v1.PhaseUpdating, v1.PhaseScaling, v1.PhasePaused, v1.PhaseRunning, v1.PhaseDisabled,
	}
}

// severity orders phases, the worst first.
func severity(p v1.Phase) int {
	if i := slices.Index(phases(), p); i >= 0 {
		return i
	}
	return severity(v1.PhasePending)
}

func worst(a, b v1.Phase) v1.Phase {
	if a == "" || severity(b) < severity(a) {
		return b
	}
	return a
}

// regionEntries aggregates clusters by region. Clusters that the application is being
// removed from do not count; a region that has only those is Deleting.
func regionEntries(clusters []v1.ClusterStatus) []v1.RegionStatus {
	regions := map[string]*v1.RegionStatus{}
	for _, c := range clusters {
		name := regionOf(c)
		r := regions[name]
		if r == nil {
			r = &v1.RegionStatus{Name: name, Phase: v1.PhaseDeleting}
			regions[name] = r
		}
		if c.Phase != v1.PhaseDeleting {
			addToRegion(r, c)
		}
	}
	if len(regions) == 0 {
		return nil
	}
	out := make([]v1.RegionStatus, 0, len(regions))
	for _, r := range regions {
		if len(regions) > maxDetailed {
			r.Replicas, r.ReadyReplicas, r.OldestObservationTime = 0, 0, nil
		}
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b v1.RegionStatus) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func addToRegion(r *v1.RegionStatus, c v1.ClusterStatus) {
	if r.Clusters == 0 {
		r.Phase = c.Phase
	}
	r.Phase = worst(r.Phase, c.Phase)
	r.Clusters++
	r.Replicas += c.Replicas
	if c.Ready {
		r.ReadyClusters++
	}
	if !c.Stale {
		r.ReadyReplicas += c.ReadyReplicas
	}
	if r.OldestObservationTime == nil || c.LastObservedTime.Before(r.OldestObservationTime) {
		r.OldestObservationTime = c.LastObservedTime.DeepCopy()
	}
}

func regionOf(c v1.ClusterStatus) string { return cmp.Or(c.Region, RegionUnknown) }

// componentEntries aggregates the components over the clusters that the application is
// placed on.
func componentEntries(in Input, clusters []v1.ClusterStatus) []v1.ComponentStatus {
	// In a very large fleet the entries omit components, so the components of clusters
	// that are not connected yet are unknown. Until they are connected, the previous
	// aggregate is kept.
	if len(clusters) > maxDetailed && anyConnecting(in, clusters) {
		return in.Previous.DeepCopy().Components
	}
	names := componentNames()
	out := make([]v1.ComponentStatus, 0, len(names))
	for _, name := range names {
		out = append(out, componentEntry(name, clusters))
	}
	return out
}

func componentEntry(name string, clusters []v1.ClusterStatus) v1.ComponentStatus {
	out := v1.ComponentStatus{Name: name}
	disabled := 0
	for _, c := range clusters {
		if c.Phase == v1.PhaseDeleting {
			continue
		}
		phase, ready := componentIn(c, name)
		if phase == v1.PhaseDisabled {
			disabled++
			continue
		}
		out.Clusters++
		out.Phase = worst(out.Phase, phase)
		if ready {
			out.ReadyClusters++
		}
	}
	switch {
	case out.Clusters == 0 && disabled > 0:
		out.Phase, out.Ready, out.Reason = v1.PhaseDisabled, true, v1.ReasonDisabled
	case out.Clusters == 0:
		out.Phase, out.Reason = v1.PhasePending, v1.ReasonWaitingForClusters
	case out.ReadyClusters == out.Clusters:
		out.Ready, out.Reason = true, v1.ReasonRunning
	default:
		out.Reason = v1.ReasonWaitingForClusters
		out.Message = fmt.Sprintf("ready in %d of %d clusters", out.ReadyClusters, out.Clusters)
	}
	return out
}

// componentIn returns the state of a component in one cluster.
func componentIn(c v1.ClusterStatus, name string) (phase v1.Phase, ready bool) {
	i := slices.IndexFunc(c.Components, func(x v1.ClusterComponentStatus) bool { return x.Name == name })
	switch {
	case i >= 0 && c.Components[i].Phase == v1.PhaseDisabled:
		return v1.PhaseDisabled, true
	case c.Stale:
		return v1.PhaseUnknown, false
	case i < 0:
		return v1.PhasePending, false
	default:
		return c.Components[i].Phase, c.Components[i].Ready
	}
}

func anyConnecting(in Input, clusters []v1.ClusterStatus) bool {
	members := membersByName(in.Clusters)
	return slices.ContainsFunc(clusters, func(c v1.ClusterStatus) bool {
		return c.Phase != v1.PhaseDeleting && members[c.Name].Connection == Connecting
	})
}
