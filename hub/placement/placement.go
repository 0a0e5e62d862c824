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

// MaxClusters is how many clusters one application can be placed on: as many
// as its status can list.
const MaxClusters = 500

// Cluster is a member of the fleet, as far as placement cares.
type Cluster struct {
	// Name is the MemberCluster's name.
	Name string
	// Labels are the MemberCluster's labels.
	Labels map[string]string
	// Region and Provider are what was given or detected; empty if unknown.
	Region   string
	Provider v1.Provider
	// Ready tells whether the cluster can take an application now.
	Ready bool
	// Detached tells that the cluster left the fleet or is about to.
	Detached bool
	// Message says why the cluster is not ready, or why it is detached.
	Message string
}

// Decision is the outcome of a placement. Together Chosen and Rejected name
// every cluster of the fleet exactly once, and the names listed in the spec
// that no cluster bears.
type Decision struct {
	// Chosen are the clusters to run on, sorted. At most MaxClusters.
	Chosen []string
	// Rejected are all others, sorted by name.
	Rejected []v1.RejectedCluster
	// Unmatched says that no cluster qualifies, so that the application stays
	// where it is; empty if one does, or if it is nowhere.
	Unmatched string
}

// Decide returns where an application should run. Current names the clusters
// that it is on and is not leaving. The order of clusters and current does not
// matter. The error says what is wrong with the placement's selector.
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
		reason, message := c.reject(cluster, placed[cluster.Name])
		if reason != "" {
			decision.reject(cluster.Name, reason, message)
			continue
		}
		candidates = append(candidates, candidate{name: cluster.Name, placed: placed[cluster.Name], ready: cluster.Ready})
	}
	for _, name := range spec.ClusterNames {
		if !known[name] {
			decision.reject(name, v1.ReasonNoMatchingCluster, "no MemberCluster has this name")
		}
	}
	decision.take(candidates, limitOf(spec))
	if len(decision.Chosen) == 0 {
		decision.stay(clusters, placed)
	}
	slices.Sort(decision.Chosen)
	slices.SortFunc(decision.Rejected, func(a, b v1.RejectedCluster) int {
		return strings.Compare(a.Name, b.Name)
	})
	return decision, nil
}

// stay keeps an application where it is when no cluster qualifies: a slip in a
// name must not take a shop down everywhere. Deleting it does that.
func (d *Decision) stay(clusters []Cluster, placed map[string]bool) {
	for _, cluster := range clusters {
		if placed[cluster.Name] && !cluster.Detached {
			d.Chosen = append(d.Chosen, cluster.Name)
		}
	}
	if len(d.Chosen) == 0 {
		return
	}
	d.Unmatched = "no cluster matches the placement, so the application stays where it is: correct spec.placement, or delete the application"
	d.Rejected = slices.DeleteFunc(d.Rejected, func(r v1.RejectedCluster) bool { return slices.Contains(d.Chosen, r.Name) })
}

// candidate is a cluster that qualifies.
type candidate struct {
	name          string
	placed, ready bool
}

// take chooses among the clusters that qualify: those that run the application
// already come first, so that a bound never moves it without need, and of those the
// ones that answer; then by name.
func (d *Decision) take(candidates []candidate, limit int) {
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(first(a.placed, b.placed), first(a.ready, b.ready), strings.Compare(a.name, b.name))
	})
	for i, c := range candidates {
		if i < limit {
			d.Chosen = append(d.Chosen, c.name)
			continue
		}
		d.reject(c.name, v1.ReasonMaxClustersReached, fmt.Sprintf("no more than %d clusters are taken", limit))
	}
}

// first orders true before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

func (d *Decision) reject(cluster, reason, message string) {
	d.Rejected = append(d.Rejected, v1.RejectedCluster{Name: cluster, Reason: reason, Message: message})
}

// criteria is a placement, prepared for many clusters.
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
		return criteria{}, fmt.Errorf("reading placement.clusterSelector: %w", err)
	}
	c.selector = selector
	return c, nil
}

// reject returns why a cluster does not qualify, or nothing if it does. The
// first row that applies decides:
//
//	left the fleet                        ClusterDetached
//	names are given, its own is not       NameNotListed
//	selector does not match               NotSelected
//	regions are given, its own is not     RegionNotListed
//	providers are given, its own is not   ProviderNotListed
//	not ready, and not placed on already  ClusterNotReady
func (c criteria) reject(cluster Cluster, placed bool) (reason, message string) {
	switch {
	case cluster.Detached:
		return v1.ReasonClusterDetached, withCause("the cluster left the fleet", cluster.Message)
	case len(c.names) > 0 && !c.names[cluster.Name]:
		return v1.ReasonNameNotListed, "placement.clusterNames does not list it"
	case !c.selector.Matches(labelsOf(cluster)):
		return v1.ReasonNotSelected, "placement.clusterSelector does not match its labels"
	case len(c.regions) > 0 && !c.regions[cluster.Region]:
		return v1.ReasonRegionNotListed, fmt.Sprintf("placement.regions does not list %s", orUnknown(cluster.Region))
	case len(c.providers) > 0 && !c.providers[cluster.Provider]:
		return v1.ReasonProviderNotListed, fmt.Sprintf("placement.providers does not list %s", orUnknown(string(cluster.Provider)))
	case !cluster.Ready && !placed:
		return v1.ReasonClusterNotReady, withCause("the cluster is not ready", cluster.Message)
	}
	return "", ""
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

func orUnknown(s string) string {
	if s == "" {
		return "an unknown one"
	}
	return s
}

func withCause(what, cause string) string {
	if cause == "" {
		return what
	}
	return what + ": " + cause
}

func setOf[T comparable](items []T) map[T]bool {
	set := make(map[T]bool, len(items))
	for _, item := range items {
		set[item] = true
	}
	return set
}
