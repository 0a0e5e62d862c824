package placement

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Verb names a decision about a cluster.
type Verb string

// What a placement decides.
const (
	Chosen   Verb = "Chosen"
	Stays    Verb = "Stays"
	Rejected Verb = "Rejected"
)

// Result holds the decision about one cluster.
type Result struct {
	Cluster  string `json:"cluster"`
	Decision Verb   `json:"decision"`
	// Reason is one of the reasons of package v1; empty if nothing is to be said of a chosen
	// cluster.
	Reason string `json:"reason,omitempty"`
	// Message says more than the reason; it may be empty.
	Message string `json:"message,omitempty"`
}

// Results returns what was decided about each cluster, sorted by name.
func (d Decision) Results(r Request) []Result {
	results := make([]Result, 0, len(d.Chosen)+len(d.Rejected))
	for _, name := range d.Chosen {
		next := Result{Cluster: name, Decision: Chosen, Message: "it matches the placement"}
		if slices.ContainsFunc(r.Current, func(c Current) bool { return c.Name == name }) {
			next.Message = "it matches the placement, and runs the application"
		}
		if d.Unmatched != "" {
			next = Result{Cluster: name, Decision: Stays, Reason: v1.ReasonNoMatchingCluster, Message: d.Unmatched}
		}
		if i := slices.IndexFunc(d.Stays, func(s Stay) bool { return s.Name == name }); i >= 0 {
			s := d.Stays[i]
			next = Result{Cluster: name, Decision: Stays, Reason: s.Reason, Message: fmt.Sprintf("%s; it stays %s", s.Cause, stayText(s))}
		}
		results = append(results, next)
	}
	for _, rejected := range d.Rejected {
		results = append(results, Result{Cluster: rejected.Name, Decision: Rejected, Reason: rejected.Reason})
	}
	slices.SortFunc(results, func(a, b Result) int { return strings.Compare(a.Cluster, b.Cluster) })
	return results
}
