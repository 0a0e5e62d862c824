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
	// Unobserved is true if the hub has yet to find out what the cluster is: what is empty of it is
	// unknown, and not absent.
	Unobserved bool
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
	// Allocatable and Requested are those of the MemberCluster. What is not requested is free; how much
	// is unknown without both.
	Allocatable, Requested v1.ResourceList
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
	// HasDatabase is true if the application has one: its data stays in a cluster that it leaves.
	HasDatabase bool
	// MoveEmpty are the clusters that it may leave nevertheless.
	MoveEmpty []string
	// Edited is true if the placement is not the one of the last decision: the user asks for clusters
	// to be exchanged.
	Edited bool
	// SelectionEdited is true if the edit changed which clusters match: the user decided about the data in those that
	// do not, too.
	SelectionEdited bool
	// Division has the spec whose replicas are divided, the present shares and whether to divide anew; the
	// zero value divides nothing. Decide ignores its clusters.
	Division Division
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
	// Frontend and Backend are the numbers of pods that are ready, as far as they are known.
	Frontend, Backend int32
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
	// Shares are the parts of the replicas by cluster, if these are divided: those of the clusters that the
	// application is to run in add up, and one that is left keeps what it has.
	Shares map[string]v1.ReplicaShare
	// Awaits are clusters that are to serve customers before others are left, sorted.
	Awaits []string
	// UnusedMoves are the clusters of MoveEmpty that nothing makes the application leave, sorted: neither now nor when
	// a toleration ends.
	UnusedMoves []string
	// Until is when a toleration ends, and with it the decision; zero if none does.
	Until time.Time
}

// candidate is a cluster about which a placement decides.
type candidate struct {
	*Cluster
	Current
	// reason is why the cluster is rejected; empty if it is not.
	reason string
	// stays is why it is chosen nevertheless; empty if it is not.
	stays  string
	placed bool
	// held is true if it matches and the application stays for its data, whatever the bounds are.
	held bool
	// short is true if fewer pods are ready than the share of the cluster.
	short bool
	// chosen is true once a cluster is chosen that is not rejected.
	chosen bool
	weight int32
	// free is the free capacity of a cluster that is ranked and does not run the application; see
	// freeSteps.
	free    int
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
		if until := c.toleratedUntil(all[i].Cluster); !until.IsZero() && (d.Until.IsZero() || until.Before(d.Until)) {
			d.Until = until
		}
	}
	s, match := choose(r, all)
	d.Unmet = s.unmet(r.HasDatabase)
	if !settled(all, match) {
		d.Unmatched = stay(all)
	}
	d.Shares = shares(r, all)
	d.Awaits = awaitReplacement(r, all)
	for i := range all {
		if all[i].placed || all[i].runs() {
			d.add(r, c, &all[i])
		}
	}
	d.Rejected = rejections(r.Placement, all, len(all)-len(d.Chosen))
	return d, nil
}

// candidates returns the clusters by name, with the reasons why they do not match, or stay for their data.
func candidates(r Request, c criteria) []candidate {
	placed := make(map[string]Current, len(r.Current))
	for _, current := range r.Current {
		placed[current.Name] = current
	}
	byName := make([]*Cluster, 0, len(r.Clusters))
	for i := range r.Clusters {
		byName = append(byName, &r.Clusters[i])
	}
	slices.SortFunc(byName, func(a, b *Cluster) int { return strings.Compare(a.Name, b.Name) })
	all := make([]candidate, 0, len(byName))
	for _, cluster := range byName {
		next := candidate{Cluster: cluster}
		next.Current, next.placed = placed[cluster.Name]
		if next.reason = c.reject(cluster, next.placed); next.reason == "" {
			next.weight = weightOf(cluster, c.Preferences)
		}
		if next.placed {
			keepData(r, &next)
			c.keepUnknown(&next)
		}
		all = append(all, next)
	}
	return all
}

// keepData keeps an application in a cluster that has its data, unless a user decided otherwise: by
// an edit of what selects clusters, after which the cluster is not selected, or by naming the cluster.
// The edit says nothing about clusters that are drained, have taints or exceed a bound.
func keepData(r Request, c *candidate) {
	switch {
	case !r.HasDatabase || c.Detached || slices.Contains(r.MoveEmpty, c.Cluster.Name):
	case c.reason == "":
		c.held = true
	case !r.SelectionEdited || evicts(c.reason):
		c.stays = v1.ReasonDataStays
	}
}

// choose chooses clusters that are not rejected within the limits, and rejects the others. It returns
// what is chosen by domain, and whether any matches. Clusters are exchanged only for an edit of the placement, and
// not for one that no cluster meets; those with data only where the user names them.
func choose(r Request, all []candidate) (s *spreader, match bool) {
	match = slices.ContainsFunc(all, func(c candidate) bool { return c.reason == "" })
	s = chooseFrom(r, all, !r.Edited)
	if r.Edited && !settled(all, match) {
		s = chooseFrom(r, all, true)
	}
	for i := range all {
		if c := &all[i]; c.reason == "" && !c.chosen {
			c.reason = s.exceeded()
		}
	}
	return s, match
}

// settled reports whether a cluster is chosen, or whether one that the application stays in is no reason
// to correct the placement: it matches, but is drained or has a taint, or it takes the place of
// another one that matches. Match is true if any is not rejected.
func settled(all []candidate, match bool) bool {
	return slices.ContainsFunc(all, func(c candidate) bool { return c.chosen || c.stays != "" && (match || evicts(c.reason)) })
}

// chooseFrom chooses clusters that are not rejected. Those with data come first, and stay if they exceed a
// bound. With keep, others that run the application come next, whatever the spread is.
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
	for i := range all {
		if all[i].stays != "" {
			s.add(all[i].domains)
		}
	}
	compareFree(matching, s, keep)
	matching = rank(matching)
	take := func(c *candidate) { c.chosen = true }
	var held []*candidate
	for _, c := range matching {
		if c.held {
			held = append(held, c)
		}
	}
	s.choose(held, take)
	for _, c := range matching {
		switch {
		case c.chosen:
		case c.held:
			c.reason, c.stays = s.exceeded(), v1.ReasonDataStays
			s.add(c.domains)
		case c.placed && c.Unobserved && s.lacksDomain(*c.domains):
			c.reason, c.stays = v1.ReasonSpreadLimit, v1.ReasonFactsUnknown
			s.add(c.domains)
		case keep && c.placed && !r.HasDatabase && s.left > 0:
			c.chosen = true
			s.add(c.domains)
		}
	}
	rest := slices.DeleteFunc(matching, func(c *candidate) bool { return c.chosen || c.held || c.stays != "" })
	s.choose(rest, take)
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
// them with their shares, as far as these can, unless it is known to serve none. It returns the others that do not yet.
// The share that a chosen cluster must serve is computed without the cluster that is left, and none is required
// where an override may replace it. With an edit of what selects clusters, data does not wait: two databases of one
// shop would diverge.
func awaitReplacement(r Request, all []candidate) (awaits []string) {
	served := false
	for i := range all {
		c := &all[i]
		switch {
		case !c.runs() || !c.Ready:
		case c.Serving && (!c.short || c.Paused || c.Stalled):
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
		byEdit := r.HasDatabase && !slices.Contains(r.MoveEmpty, c.Cluster.Name)
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

// find returns the candidate of a name among those that are sorted by name; nil if there is none.
func find(all []candidate, name string) *candidate {
	i, exists := slices.BinarySearchFunc(all, name, func(c candidate, name string) int { return strings.Compare(c.Cluster.Name, name) })
	if !exists {
		return nil
	}
	return &all[i]
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
