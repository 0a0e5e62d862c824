package placement

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	c := criteria{Placement: &spec, names: setOf(spec.ClusterNames)}
	if err := c.check(); err != nil {
		return Decision{}, err
	}
	placed, sorted := setOf(current), byName(clusters)
	reasons := make([]string, len(sorted)) // Why each is rejected; empty if it is chosen.
	for i, cluster := range sorted {
		reasons[i] = c.reject(cluster, placed[cluster.Name])
	}
	rejectBeyond(limitOf(spec), sorted, reasons, placed)
	var d Decision
	if !slices.Contains(reasons, "") && stay(sorted, reasons, placed) {
		d.Unmatched = "no cluster matches the placement, so the application stays on its current clusters: correct spec.placement, or delete the application"
	}
	for i, cluster := range sorted {
		if reasons[i] == "" {
			d.Chosen = append(d.Chosen, cluster.Name)
		}
	}
	d.Rejected = rejections(spec, sorted, reasons, len(sorted)-len(d.Chosen))
	return d, nil
}

// byName returns clusters sorted by name.
func byName(clusters []Cluster) []*Cluster {
	sorted := make([]*Cluster, 0, len(clusters))
	for i := range clusters {
		sorted = append(sorted, &clusters[i])
	}
	slices.SortFunc(sorted, func(a, b *Cluster) int { return strings.Compare(a.Name, b.Name) })
	return sorted
}

// rejectBeyond rejects the matching clusters beyond a limit. Those that run the application come
// first, so that a limit never moves it without need; of those, the ready ones; then by name.
func rejectBeyond(limit int, sorted []*Cluster, reasons []string, placed map[string]bool) {
	for _, belongs := range []func(*Cluster) bool{
		func(c *Cluster) bool { return placed[c.Name] && c.Ready },
		func(c *Cluster) bool { return placed[c.Name] && !c.Ready },
		func(c *Cluster) bool { return !placed[c.Name] },
	} {
		for i, cluster := range sorted {
			switch {
			case reasons[i] != "" || !belongs(cluster):
			case limit > 0:
				limit--
			default:
				reasons[i] = v1.ReasonMaxClustersReached
			}
		}
	}
}

// stay keeps an application where it is if no cluster matches: a typo in a name must not delete it
// everywhere. It reports whether there are such clusters.
func stay(sorted []*Cluster, reasons []string, placed map[string]bool) bool {
	stays := false
	for i, cluster := range sorted {
		if placed[cluster.Name] && !cluster.Detached {
			reasons[i], stays = "", true
		}
	}
	return stays
}

// rejections returns the clusters with a reason, and those that the spec lists and that do not
// exist, sorted by name. Known is the number of the former.
func rejections(spec v1.Placement, sorted []*Cluster, reasons []string, known int) []Rejection {
	if known == 0 && len(spec.ClusterNames) == 0 {
		return nil
	}
	rejected := make([]Rejection, 0, known)
	for i, cluster := range sorted {
		if reasons[i] != "" {
			rejected = append(rejected, Rejection{Name: cluster.Name, Reason: reasons[i]})
		}
	}
	for _, name := range spec.ClusterNames {
		if _, exists := slices.BinarySearchFunc(sorted, name, func(c *Cluster, name string) int { return strings.Compare(c.Name, name) }); !exists {
			rejected = append(rejected, Rejection{Name: name, Reason: v1.ReasonNoMatchingCluster})
		}
	}
	slices.SortFunc(rejected, func(a, b Rejection) int { return strings.Compare(a.Name, b.Name) })
	return rejected
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
// exist counts as a detached one. It allocates nothing.
func Affects(spec *v1.Placement, before, after *Cluster) bool {
	c := criteria{Placement: spec}
	return (c.reject(before, false) == "") != (c.reject(after, false) == "")
}

// criteria is a placement. It is evaluated without an allocation, because one event of a cluster
// has it evaluated for each application.
type criteria struct {
	*v1.Placement
	// names is the set of ClusterNames; nil if few clusters are compared with them.
	names map[string]bool
}

// check returns an error if the placement cannot be decided.
func (c criteria) check() error {
	if _, err := metav1.LabelSelectorAsSelector(c.ClusterSelector); err != nil {
		return fmt.Errorf("parsing placement.clusterSelector: %w", err)
	}
	return nil
}

func (c criteria) listsName(name string) bool {
	if c.names != nil {
		return c.names[name]
	}
	return slices.Contains(c.ClusterNames, name)
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
func (c criteria) reject(cluster *Cluster, placed bool) string {
	switch {
	case cluster.Detached:
		return v1.ReasonClusterDetached
	case len(c.ClusterNames) > 0 && !c.listsName(cluster.Name):
		return v1.ReasonNameNotListed
	case !selects(c.ClusterSelector, cluster):
		return v1.ReasonNotSelected
	case len(c.Regions) > 0 && !slices.Contains(c.Regions, cluster.Region):
		return v1.ReasonRegionNotListed
	case len(c.Providers) > 0 && !slices.Contains(c.Providers, cluster.Provider):
		return v1.ReasonProviderNotListed
	case !cluster.Ready && !placed:
		return v1.ReasonClusterNotReady
	case cluster.Paused && !placed:
		return v1.ReasonPaused
	default:
		return ""
	}
}

// selects reports whether a selector matches the labels of a cluster, as the selector that
// LabelSelectorAsSelector returns does. One that is not valid matches none, or ignores what is wrong.
func selects(selector *metav1.LabelSelector, cluster *Cluster) bool {
	if selector == nil {
		return true
	}
	for key, want := range selector.MatchLabels {
		if value, has := labelOf(cluster, key); !has || value != want {
			return false
		}
	}
	for i := range selector.MatchExpressions {
		r := &selector.MatchExpressions[i]
		value, has := labelOf(cluster, r.Key)
		matches := false
		switch r.Operator {
		case metav1.LabelSelectorOpIn:
			matches = has && slices.Contains(r.Values, value)
		case metav1.LabelSelectorOpNotIn:
			matches = !has || !slices.Contains(r.Values, value)
		case metav1.LabelSelectorOpExists:
			matches = has
		case metav1.LabelSelectorOpDoesNotExist:
			matches = !has
		}
		if !matches {
			return false
		}
	}
	return true
}

// labelOf returns a label of a cluster as selectors see it, and whether there is one.
func labelOf(c *Cluster, key string) (value string, has bool) {
	switch {
	case key == corev1.LabelTopologyRegion && c.Region != "":
		return c.Region, true
	case key == v1.ProviderLabel && c.Provider != "":
		return string(c.Provider), true
	}
	value, has = c.Labels[key]
	return value, has
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
