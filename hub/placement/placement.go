package placement

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// MaxClusters is the maximum number of clusters for one application: as many as its
// status can list.
const MaxClusters = 500

// maxExamples bounds the clusters that Counts, and messages, name for each reason.
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
	// Edited is true if the placement is not the one of the last decision. A user who edits it
	// decides about the data too, and asks for clusters to be exchanged.
	Edited bool
	// Now decides whether a toleration has ended.
	Now time.Time
}

// Current is a cluster that runs an application.
type Current struct {
	Name string
	// Serving is true if customers are served there.
	Serving bool
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
	// Unspread says which bounds of the spread the chosen clusters do not meet; otherwise empty.
	Unspread string
	// Until is when a toleration ends, and with it the decision; zero if none does.
	Until time.Time
}

// candidate is a cluster about which a placement decides.
type candidate struct {
	*Cluster
	placed, serving bool
	// reason is why the cluster is rejected; empty if it is not.
	reason string
	// stays is why it is chosen nevertheless; empty if it is not.
	stays string
	// chosen is true once a cluster is chosen that is not rejected.
	chosen  bool
	weight  int32
	domains domains
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
		keepData(r, &all[i])
		if until := c.toleratedUntil(all[i].Cluster); all[i].placed && !until.IsZero() && (d.Until.IsZero() || until.Before(d.Until)) {
			d.Until = until
		}
	}
	d.Unspread = choose(r, all)
	if !matched(all) {
		d.Unmatched = stay(all)
	}
	awaitReplacement(r, all)
	for i := range all {
		if all[i].runs() {
			d.Chosen = append(d.Chosen, all[i].Name)
		}
		if all[i].stays != "" && all[i].stays != v1.ReasonNoMatchingCluster {
			d.Stays = append(d.Stays, Stay{Name: all[i].Name, Cause: all[i].reason, Reason: all[i].stays})
		}
	}
	d.Rejected = rejections(r.Placement, all, len(all)-len(d.Chosen))
	return d, nil
}

// candidates returns the clusters by name, with the reasons why they do not match.
func candidates(r Request, c criteria) []candidate {
	serving := make(map[string]bool, len(r.Current))
	for _, current := range r.Current {
		serving[current.Name] = current.Serving
	}
	all := make([]candidate, 0, len(r.Clusters))
	for i := range r.Clusters {
		cluster := &r.Clusters[i]
		next := candidate{Cluster: cluster}
		next.serving, next.placed = serving[cluster.Name]
		next.reason = c.reject(cluster, next.placed)
		next.weight = c.weight(cluster)
		all = append(all, next)
	}
	slices.SortFunc(all, func(a, b candidate) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// keepData keeps an application in a cluster that has its data, unless a user decided otherwise: by
// an edit of the placement, which says nothing about clusters that are drained or have taints, or by
// naming the cluster.
func keepData(r Request, c *candidate) {
	if r.Data && c.placed && c.reason != "" && !c.Detached && (!r.Edited || evicts(c.reason)) && !slices.Contains(r.MoveEmpty, c.Name) {
		c.stays = v1.ReasonDataStays
	}
}

// choose chooses clusters that are not rejected within the limits, and rejects the others. It returns
// which bounds of the spread are not met. Clusters are exchanged only for an edit of the placement,
// and not for one that no cluster meets.
func choose(r Request, all []candidate) (unspread string) {
	s := chooseFrom(r, all, !r.Edited)
	if r.Edited && !matched(all) {
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

// matched reports whether a cluster matches the placement: one that is chosen, or one that the
// application should leave for the sake of the cluster alone.
func matched(all []candidate) bool {
	return slices.ContainsFunc(all, func(c candidate) bool { return c.chosen || c.stays != "" && evicts(c.reason) })
}

// chooseFrom chooses clusters that are not rejected. With keep, those that run the application come
// first, whatever the limits are.
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
		if c := &all[i]; c.stays != "" || keep && c.reason == "" && c.placed {
			c.chosen = c.reason == ""
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

// awaitReplacement keeps customers served: clusters that serve them are left when the others that
// are chosen do, as far as these respond. With an edit of the placement, data does not wait: later
// decisions would not know of the edit.
func awaitReplacement(r Request, all []candidate) {
	waits, served := false, false
	for i := range all {
		if c := &all[i]; c.runs() {
			served = served || c.serving
			waits = waits || c.Ready && !c.serving
		}
	}
	if served && !waits {
		return
	}
	for i := range all {
		c := &all[i]
		byEdit := r.Data && !slices.Contains(r.MoveEmpty, c.Name)
		if c.placed && c.serving && !c.Detached && !c.runs() && !byEdit {
			c.stays = v1.ReasonReplacementPending
		}
	}
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
			rejected = append(rejected, Rejection{Name: all[i].Name, Reason: all[i].reason})
		}
	}
	for _, name := range spec.ClusterNames {
		if _, exists := slices.BinarySearchFunc(all, name, func(c candidate, name string) int { return strings.Compare(c.Name, name) }); !exists {
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

// Pending reports whether the application is yet to leave clusters, or to find one. An edit of the
// placement counts as one until it has.
func (d Decision) Pending() bool {
	return d.Unmatched != "" || slices.ContainsFunc(d.Stays, func(s Stay) bool { return s.Reason == v1.ReasonReplacementPending })
}

// Explain describes the clusters that the application should leave, and why it does not; empty if there
// are none. Reason is that of the first.
func (d Decision) Explain() (reason, message string) {
	var parts []string
	for i, s := range d.Stays {
		if i == 0 {
			reason = s.Reason
		}
		if i == maxExamples {
			parts = append(parts, fmt.Sprintf("and %d more", len(d.Stays)-maxExamples))
			break
		}
		parts = append(parts, fmt.Sprintf("stays in %s (%s) %s", s.Name, s.Cause, stayText(s)))
	}
	return reason, strings.Join(parts, "; ")
}

func stayText(s Stay) string {
	switch s.Reason {
	case v1.ReasonDataStays:
		return fmt.Sprintf("because its database would be left behind: to move without the data, add %s to the annotation %s", s.Name, v1.MoveEmptyAnnotation)
	case v1.ReasonReplacementPending:
		return "until the other clusters serve customers"
	default:
		return "because no other cluster can run it"
	}
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
	if c.weight(before) != c.weight(after) {
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
