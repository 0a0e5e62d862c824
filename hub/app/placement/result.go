package placement

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// maxExamples bounds the clusters that Counts, and messages, name for each reason.
const maxExamples = 3

// Outcome is a decision about a cluster.
type Outcome string

// What a placement decides.
const (
	Chosen   Outcome = "Chosen"
	Stays    Outcome = "Stays"
	Rejected Outcome = "Rejected"
)

// Result holds the decision about one cluster.
type Result struct {
	Cluster  string  `json:"cluster"`
	Decision Outcome `json:"decision"`
	// Reason is one of the reasons of package v1; empty if nothing is to be said of a chosen
	// cluster.
	Reason string `json:"reason,omitempty"`
	// Message says more than the reason; it may be empty.
	Message string `json:"message,omitempty"`
}

// leavesData follows the message of a cluster that an application with a database leaves.
const leavesData = "the application leaves its database behind: volumes and backups stay in the cluster"

// Results returns what was decided about each cluster, sorted by name.
func (d Decision) Results(r Request) []Result {
	results := make([]Result, 0, len(d.Chosen)+len(d.Rejected))
	e := newExplainer(r)
	for _, name := range d.Chosen {
		next := Result{Cluster: name, Decision: Chosen, Message: e.chosen(find(e.all, name))}
		if d.Unmatched != "" {
			next = Result{Cluster: name, Decision: Stays, Reason: v1.ReasonNoMatchingCluster, Message: d.Unmatched}
		}
		if i := slices.IndexFunc(d.Stays, func(s Stay) bool { return s.Name == name }); i >= 0 {
			s := d.Stays[i]
			next = Result{Cluster: name, Decision: Stays, Reason: s.Reason, Message: fmt.Sprintf("%s; it stays %s", s.Cause, d.stayText(s))}
			if r.HasDatabase && s.Reason == v1.ReasonReplacementPending {
				next.Message += "; then " + leavesData
			}
		}
		results = append(results, next)
	}
	for _, rejected := range d.Rejected {
		results = append(results, Result{Cluster: rejected.Name, Decision: Rejected, Reason: rejected.Reason, Message: e.rejected(rejected)})
	}
	slices.SortFunc(results, func(a, b Result) int { return strings.Compare(a.Cluster, b.Cluster) })
	return results
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
	return d.Unmatched != "" || slices.ContainsFunc(d.Stays, func(s Stay) bool {
		return s.Reason == v1.ReasonReplacementPending || s.Reason == v1.ReasonFactsUnknown
	})
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
		parts = append(parts, fmt.Sprintf("stays in %s (%s) %s", s.Name, s.Cause, d.stayText(s)))
	}
	return reason, strings.Join(parts, "; ")
}

// stayText describes why the application stays in a cluster.
func (d Decision) stayText(s Stay) string {
	switch s.Reason {
	case v1.ReasonDataStays:
		return fmt.Sprintf("because its database would be left behind: to move without the data, add %s to the annotation %s", s.Name, v1.MoveEmptyAnnotation)
	case v1.ReasonReplacementPending:
		if len(d.Awaits) == 0 {
			return "until another cluster serves customers"
		}
		return "until customers are served in " + strings.Join(d.Awaits[:min(maxExamples, len(d.Awaits))], ", ")
	case v1.ReasonFactsUnknown:
		return "until its region, provider and zones are known again"
	default:
		return "because no other cluster can run it"
	}
}

// add adds a cluster that runs the application, or is to run it.
func (d *Decision) add(r Request, c criteria, of *candidate) {
	name := of.Cluster.Name
	if d.Shares != nil && (of.stays == v1.ReasonReplacementPending || of.stays == v1.ReasonFactsUnknown) {
		if last, has := r.Division.Last[name]; has {
			d.Shares[name] = last
		}
	}
	if of.runs() {
		d.Chosen = append(d.Chosen, name)
	}
	if of.placed && of.chosen && slices.Contains(r.MoveEmpty, name) && c.toleratedUntil(of.Cluster).IsZero() {
		d.UnusedMoves = append(d.UnusedMoves, name)
	}
	if of.stays != "" && of.stays != v1.ReasonNoMatchingCluster {
		d.Stays = append(d.Stays, Stay{Name: name, Cause: of.reason, Reason: of.stays})
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
			rejected = append(rejected, Rejection{Name: all[i].Cluster.Name, Reason: all[i].reason})
		}
	}
	for _, name := range spec.ClusterNames {
		if find(all, name) == nil {
			rejected = append(rejected, Rejection{Name: name, Reason: v1.ReasonNoMatchingCluster})
		}
	}
	slices.SortFunc(rejected, func(a, b Rejection) int { return strings.Compare(a.Name, b.Name) })
	return rejected
}
