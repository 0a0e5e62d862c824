package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// MaxClusters is the maximum number of clusters for one application: as many as its
// status can list.
const MaxClusters = 500

// maxExamples bounds the clusters that Counts names for each reason.
const maxExamples = 3

// Cluster is the part of a member that placement considers.
type Cluster struct {
	// Name is the name of the MemberCluster.
	Name string
	// Labels are the labels of the MemberCluster.
	Labels map[string]string
	// Region and Provider are configured or detected; empty if unknown.
	Region   string
	Provider v1.Provider
	// Ready is true if the cluster can take an application now.
	Ready bool
	// Paused is true if nothing is written to the cluster.
	Paused bool
	// Detached is true if the cluster has left the fleet or is about to.
	Detached bool
}

// Rejection is a cluster that a placement did not choose.
type Rejection struct {
	Name string
	// Reason is one of the reasons of package v1.
	Reason string
}

// Decision is the result of a placement. Chosen and Rejected together name every cluster
// of the fleet, and every unknown cluster that the spec lists, exactly once.
type Decision struct {
	// Chosen are the clusters to run on, sorted, at most MaxClusters.
	Chosen []string
	// Rejected are all others, sorted by name.
	Rejected []Rejection
	// Unmatched is the message if no cluster matches and the application stays where it
	// is; otherwise empty.
	Unmatched string
}

// Decide returns the clusters that should run an application. Current names the clusters
// that run it and are not being left. The order of clusters and current does not matter.
// The error is about the placement's selector.
func Decide(spec v1.Placement, clusters []Cluster, current []string) (Decision, error) {
	c, err := newCriteria(spec)
	if err != nil {
		return Decision{}, err
	}
	var (
		decision   Decision
		candidates []candidate
		known      = make(map[string]bool, len(clusters))
		placed     = setOf(current)
	)
	for _, cluster := range clusters {
		known[cluster.Name] = true
		if reason := c.reject(cluster, placed[cluster.Name]); reason != "" {
			decision.reject(cluster.Name, reason)
			continue
		}
		candidates = append(candidates, candidate{name: cluster.Name, placed: placed[cluster.Name], ready: cluster.Ready})
	}
	for _, name := range spec.ClusterNames {
		if !known[name] {
			decision.reject(name, v1.ReasonNoMatchingCluster)
		}
	}
	decision.take(candidates, limitOf(spec))
	if len(decision.Chosen) == 0 {
		decision.stay(clusters, placed)
	}
	slices.Sort(decision.Chosen)
	slices.SortFunc(decision.Rejected, func(a, b Rejection) int {
		return strings.Compare(a.Name, b.Name)
	})
	return decision, nil
}

// Counts returns the number of rejected clusters for each reason, sorted by reason, with the
// first of them by name.
func (d Decision) Counts() []v1.RejectedClusters {
	var counts []v1.RejectedClusters
	for _, r := range d.Rejected {
		i, known := slices.BinarySearchFunc(counts, r.Reason, func(c v1.RejectedClusters, reason string) int {
			return strings.Compare(c.Reason, reason)
		})
		if !known {
			counts = slices.Insert(counts, i, v1.RejectedClusters{Reason: r.Reason})
		}
		counts[i].Clusters++
		if len(counts[i].Examples) < maxExamples {
			counts[i].Examples = append(counts[i].Examples, r.Name)
		}
	}
	return counts
}

// Affects reports whether a change of a cluster that does not run an application can change the
// clusters chosen for it. Another reason to reject the cluster does not. A cluster that does not
// exist counts as a detached one.
func Affects(spec v1.Placement, before, after Cluster) bool {
	c, err := newCriteria(spec)
	if err != nil {
		return false // Nothing is decided before the spec changes.
	}
	return (c.reject(before, false) == "") != (c.reject(after, false) == "")
}

// stay keeps an application where it is if no cluster matches: a typo in a name must not
// delete it everywhere.
func (d *Decision) stay(clusters []Cluster, placed map[string]bool) {
	for _, cluster := range clusters {
		if placed[cluster.Name] && !cluster.Detached {
			d.Chosen = append(d.Chosen, cluster.Name)
		}
	}
	if len(d.Chosen) == 0 {
		return
	}
	d.Unmatched = "no cluster matches the placement, so the application stays on its current clusters: correct spec.placement, or delete the application"
	d.Rejected = slices.DeleteFunc(d.Rejected, func(r Rejection) bool { return slices.Contains(d.Chosen, r.Name) })
}

// candidate is a cluster that matches.
type candidate struct {
	name          string
	placed, ready bool
}

// take chooses among the matching clusters: those that run the application come first, so
// that a limit never moves it without need; of those, the ready ones; then by name.
func (d *Decision) take(candidates []candidate, limit int) {
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(trueFirst(a.placed, b.placed), trueFirst(a.ready, b.ready), strings.Compare(a.name, b.name))
	})
	for i, c := range candidates {
		if i < limit {
			d.Chosen = append(d.Chosen, c.name)
			continue
		}
		d.reject(c.name, v1.ReasonMaxClustersReached)
	}
}

// trueFirst orders true before false.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

func (d *Decision) reject(cluster, reason string) {
	d.Rejected = append(d.Rejected, Rejection{Name: cluster, Reason: reason})
}

// criteria is a parsed placement.
type criteria struct {
	names     map[string]bool
	selector  labels.Selector
	regions   map[string]bool
	providers map[v1.Provider]bool
}

func newCriteria(spec v1.Placement) (criteria, error) {
	c := criteria{
		names:     setOf(spec.ClusterNames),
		selector:  labels.Everything(),
		regions:   setOf(spec.Regions),
		providers: setOf(spec.Providers),
	}
	if spec.ClusterSelector == nil {
		return c, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(spec.ClusterSelector)
	if err != nil {
		return criteria{}, fmt.Errorf("parsing placement.clusterSelector: %w", err)
	}
	c.selector = selector
	return c, nil
}

// reject returns why a cluster does not match, or an empty string if it does. The
// first row that applies decides:
//
//	left the fleet                        ClusterDetached
//	clusterNames does not list it         NameNotListed
//	selector does not match               NotSelected
//	regions does not list its region      RegionNotListed
//	providers does not list its provider  ProviderNotListed
//	not ready, and not placed yet         ClusterNotReady
//	paused, and not placed yet            Paused
func (c criteria) reject(cluster Cluster, placed bool) string {
	switch {
	case cluster.Detached:
		return v1.ReasonClusterDetached
	case len(c.names) > 0 && !c.names[cluster.Name]:
		return v1.ReasonNameNotListed
	case !c.selector.Matches(labelsOf(cluster)):
		return v1.ReasonNotSelected
	case len(c.regions) > 0 && !c.regions[cluster.Region]:
		return v1.ReasonRegionNotListed
	case len(c.providers) > 0 && !c.providers[cluster.Provider]:
		return v1.ReasonProviderNotListed
	case !cluster.Ready && !placed:
		return v1.ReasonClusterNotReady
	case cluster.Paused && !placed:
		return v1.ReasonPaused
	default:
		return ""
	}
}

func labelsOf(c Cluster) labels.Set {
	set := make(labels.Set, len(c.Labels)+2)
	maps.Copy(set, c.Labels)
	if c.Region != "" {
		set[corev1.LabelTopologyRegion] = c.Region
	}
	if c.Provider != "" {
		set[v1.ProviderLabel] = string(c.Provider)
	}
	return set
}

func limitOf(spec v1.Placement) int {
	if spec.MaxClusters > 0 {
		return min(int(spec.MaxClusters), MaxClusters)
	}
	return MaxClusters
}

func setOf[T comparable](items []T) map[T]bool {
	set := make(map[T]bool, len(items))
	for _, item := range items {
		set[item] = true
	}
	return set
}
