package placement

import (
	"slices"
	"strings"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// MaxClusters is the maximum number of clusters for one application: as many as its
// status can list.
const MaxClusters = 500

// Cluster is the part of a member that placement considers.
type Cluster struct {
	// Name is the name of the MemberCluster.
	Name string
	// Labels are the labels of the MemberCluster.
	Labels map[string]string
	// Region and Provider are configured or detected; empty if unknown.
	Region   string
	Provider v1.Provider
	// Zones are those of the nodes, sorted.
	Zones []string
	// Ready is true if the cluster can take an application now.
	Ready bool
	// Paused is true if nothing is written to the cluster.
	Paused bool
	// Detached is true if the cluster has left the fleet or is about to.
	Detached bool
	// Scheduling is that of the MemberCluster; empty means Enabled.
	Scheduling v1.Scheduling
	// Taints are those of the MemberCluster.
	Taints []Taint
}

// Taint is a taint of a cluster.
type Taint struct {
	v1.Taint
	// AddedTime is when the taint was added.
	AddedTime time.Time
}

// Request is the input of a placement.
type Request struct {
	// Placement is that of the spec.
	Placement v1.Placement
	// Clusters are those of the fleet, in any order.
	Clusters []Cluster
	// Current are the clusters that run the application and are not being left, in any order.
	Current []Current
	// Data is true if the application has a database: its data stays in a cluster that it leaves.
	Data bool
	// MoveEmpty are the clusters that it may leave nevertheless.
	MoveEmpty []string
	// Edited is true if the placement is not the one of the last decision: the user asks for clusters
	// to be exchanged.
	Edited bool
	// Selected is true if the edit changed which clusters match: the user decided about the data too.
	Selected bool
	// Now decides whether a toleration has ended.
	Now time.Time
}

// Current is a cluster that runs an application.
type Current struct {
	Name string
	// Serving is true if customers were served there when that was last known, and Idle if it is known
	// that they are not.
	Serving, Idle bool
	// Stalled is true if that does not change without a user.
	Stalled bool
}

// Rejection is a cluster that a placement did not choose.
type Rejection struct {
	Name string
	// Reason is one of the reasons of package v1.
	Reason string
}

// Stay is a cluster that is chosen although the placement rejects it.
type Stay struct {
	Name string
	// Cause is why the application should leave the cluster, and Reason why it does not, which are
	// reasons of package v1.
	Cause, Reason string
}

// Decision is the result of a placement. Chosen and Rejected together name every cluster
// of the fleet, and every unknown cluster that the spec lists, exactly once.
type Decision struct {
	// Chosen are the clusters to run on, sorted, at most MaxClusters and those of Stays.
	Chosen []string
	// Rejected are all others, sorted by name.
	Rejected []Rejection
	// Stays are the chosen clusters that the application should leave, sorted by name.
	Stays []Stay
	// Unmatched is the message if no cluster matches and the application stays where it
	// is; otherwise empty.
	Unmatched string
	// Unmet says which bounds the chosen clusters do not meet; otherwise empty.
	Unmet string
	// Awaits are clusters that are to serve customers before others are left, sorted.
	Awaits []string
	// Until is when a toleration ends, and with it the decision; zero if none does.
	Until time.Time
}

// candidate is a cluster about which a placement decides.
type candidate struct {
	*Cluster
	Current
	placed bool
	// reason is why the cluster is rejected; empty if it is not.
	reason string
	// stays is why it is chosen nevertheless; empty if it is not.
	stays string
	// chosen is true once a cluster is chosen that is not rejected.
	chosen  bool
	weight  int32
	domains *domains
}

// runs reports whether the application is to run in the cluster.
func (c *candidate) runs() bool { return c.chosen || c.stays != "" }

// Decide returns the clusters that should run an application. The order of clusters does not matter.
// The error is about the placement's selectors.
func Decide(r Request) (Decision, error) {
	c := criteria{Placement: &r.Placement, names: setOf(r.Placement.ClusterNames), now: r.Now}
	if err := c.check(); err != nil {
		return Decision{}, err
	}
	var d Decision
	all := candidates(r, c)
	for i := range all {
		if !all[i].placed {
			continue
		}
		keepData(r, &all[i])
		if until := c.toleratedUntil(all[i].Cluster); !until.IsZero() && (d.Until.IsZero() || until.Before(d.Until)) {
			d.Until = until
		}
	}
	match := slices.ContainsFunc(all, func(c candidate) bool { return c.reason == "" })
	d.Unmet = choose(r, all, match)
	if !settled(all, match) {
		d.Unmatched = stay(all)
	}
	d.Awaits = awaitReplacement(r, all)
	for i := range all {
		if all[i].runs() {
			d.Chosen = append(d.Chosen, all[i].Cluster.Name)
		}
		if all[i].stays != "" && all[i].stays != v1.ReasonNoMatchingCluster {
			d.Stays = append(d.Stays, Stay{Name: all[i].Cluster.Name, Cause: all[i].reason, Reason: all[i].stays})
		}
	}
	d.Rejected = rejections(r.Placement, all, len(all)-len(d.Chosen))
	return d, nil
}

// candidates returns the clusters by name, with the reasons why they do not match.
func candidates(r Request, c criteria) []candidate {
	placed := make(map[string]Current, len(r.Current))
	for _, current := range r.Current {
		placed[current.Name] = current
	}
	all := make([]candidate, 0, len(r.Clusters))
	for i := range r.Clusters {
		cluster := &r.Clusters[i]
		next := candidate{Cluster: cluster}
		next.Current, next.placed = placed[cluster.Name]
		if next.reason = c.reject(cluster, next.placed); next.reason == "" {
			next.weight = weightOf(cluster, c.Preferences)
		}
		all = append(all, next)
	}
	slices.SortFunc(all, func(a, b candidate) int { return strings.Compare(a.Cluster.Name, b.Cluster.Name) })
	return all
}

// keepData keeps an application in a cluster that has its data, unless a user decided otherwise: by
// an edit of what selects clusters, which says nothing about those that are drained or have taints, or
// by naming the cluster.
func keepData(r Request, c *candidate) {
	if r.Data && c.reason != "" && !c.Detached && (!r.Selected || evicts(c.reason)) && !slices.Contains(r.MoveEmpty, c.Cluster.Name) {
		c.stays = v1.ReasonDataStays
	}
}

// choose chooses clusters that are not rejected within the limits, and rejects the others. It returns
// which bounds are not met. Clusters are exchanged only for an edit of the placement, and not for one
// that no cluster meets. Match is true if any is not rejected.
func choose(r Request, all []candidate, match bool) (unmet string) {
	s := chooseFrom(r, all, !r.Edited)
	if r.Edited && !settled(all, match) {
		s = chooseFrom(r, all, true)
	}
	for i := range all {
		if c := &all[i]; c.reason == "" && !c.chosen {
			c.reason = v1.ReasonSpreadLimit
			if s.left <= 0 {
				c.reason = v1.ReasonMaxClustersReached
			}
		}
	}
	return s.unmet()
}

// settled reports whether a cluster is chosen, or whether one that the application stays in is no reason
// to correct the placement: it matches, but is drained or has a taint, or it takes the place of
// another one that matches. Match is true if any is not rejected.
func settled(all []candidate, match bool) bool {
	return slices.ContainsFunc(all, func(c candidate) bool { return c.chosen || c.stays != "" && (match || evicts(c.reason)) })
}

// chooseFrom chooses clusters that are not rejected. With keep, those that run the application come
// first, whatever the spread is, and those with data whatever their number is.
func chooseFrom(r Request, all []candidate, keep bool) *spreader {
	s := newSpreader(&r.Placement)
	var matching []*candidate
	for i := range all {
		c := &all[i]
		if c.reason == "" || c.stays != "" {
			c.domains = s.register(c.Cluster)
		}
		if c.reason == "" {
			matching = append(matching, c)
		}
	}
	rank(matching)
	for i := range all {
		if all[i].stays != "" {
			s.add(all[i].domains)
		}
	}
	for _, c := range matching {
		if keep && c.placed && (r.Data && !r.Edited || s.left > 0) {
			c.chosen = true
			s.add(c.domains)
		}
	}
	rest := slices.DeleteFunc(matching, func(c *candidate) bool { return c.chosen })
	s.choose(rest, func(c *candidate) { c.chosen = true })
	return s
}

// stay keeps an application where it is if no cluster matches: neither a typo in a name nor a cluster
// that is drained may delete it everywhere. It returns the message if the placement is to be
// corrected.
func stay(all []candidate) (unmatched string) {
	var placed []*candidate
	for i := range all {
		if c := &all[i]; c.placed && !c.Detached {
			placed = append(placed, c)
			if !evicts(c.reason) {
				unmatched = "no cluster matches the placement, so the application stays on its current clusters: correct spec.placement, or delete the application"
			}
		}
	}
	for _, c := range placed {
		switch {
		case unmatched != "":
			c.stays = v1.ReasonNoMatchingCluster
		case c.stays == "":
			c.stays = v1.ReasonNoOtherCluster
		}
	}
	return unmatched
}

// awaitReplacement keeps customers served: a cluster is left when the others that are chosen serve
// them, as far as these can, unless it is known to serve none. It returns the others that do not yet.
// With an edit of what selects clusters, data does not wait: two databases of one shop would diverge.
func awaitReplacement(r Request, all []candidate) (awaits []string) {
	served := false
	for i := range all {
		c := &all[i]
		switch {
		case !c.runs() || !c.Ready:
		case c.Serving:
			served = true
		case c.Paused || c.Stalled || !c.placed && len(r.Current) >= MaxClusters: // It will not, or has no entry yet.
		default:
			awaits = append(awaits, c.Cluster.Name)
		}
	}
	if served && len(awaits) == 0 {
		return nil
	}
	waits := false
	for i := range all {
		c := &all[i]
		byEdit := r.Data && !slices.Contains(r.MoveEmpty, c.Cluster.Name)
		// Of too many, one that may serve is given up for one that may serve too.
		beyond := c.reason == v1.ReasonMaxClustersReached && !c.Serving
		if c.placed && !c.Idle && !c.Detached && !c.runs() && !byEdit && !beyond {
			c.stays, waits = v1.ReasonReplacementPending, true
		}
	}
	if !waits {
		return nil
	}
	return awaits
}

// rejections returns the clusters that the application is not to run in, and those that the spec
// lists and that do not exist, sorted by name. Known is the number of the former.
func rejections(spec v1.Placement, all []candidate, known int) []Rejection {
	if known == 0 && len(spec.ClusterNames) == 0 {
		return nil
	}
	rejected := make([]Rejection, 0, known)
	for i := range all {
		if !all[i].runs() {
			rejected = append(rejected, Rejection{Name: all[i].Cluster.Name, Reason: all[i].reason})
		}
	}
	for _, name := range spec.ClusterNames {
		if _, exists := slices.BinarySearchFunc(all, name, func(c candidate, name string) int { return strings.Compare(c.Cluster.Name, name) }); !exists {
			rejected = append(rejected, Rejection{Name: name, Reason: v1.ReasonNoMatchingCluster})
		}
	}
	slices.SortFunc(rejected, func(a, b Rejection) int { return strings.Compare(a.Name, b.Name) })
	return rejected
}

// Affects reports whether a change of a cluster that does not run an application can change the
// clusters chosen for it. Another reason to reject the cluster does not. A cluster that does not
// exist counts as a detached one. It allocates nothing.
func Affects(spec *v1.Placement, before, after *Cluster) bool {
	c := criteria{Placement: spec}
	was, is := c.reject(before, false) == "", c.reject(after, false) == ""
	if was != is || !is {
		return was != is
	}
	if weightOf(before, c.Preferences) != weightOf(after, c.Preferences) {
		return true
	}
	for i := range spec.Spread {
		switch spec.Spread[i].Topology {
		case v1.TopologyRegion:
			is = is && before.Region == after.Region
		case v1.TopologyProvider:
			is = is && before.Provider == after.Provider
		case v1.TopologyZone:
			is = is && slices.Equal(before.Zones, after.Zones)
		}
	}
	return !is
}

func limitOf(spec *v1.Placement) int {
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
