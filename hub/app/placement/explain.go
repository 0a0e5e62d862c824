package placement

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// explainer describes what decided about clusters. It chooses once more, because a decision keeps reasons alone.
type explainer struct {
	Request
	all     []candidate
	spreads *spreader
	// last is the chosen cluster that is ranked last; nil if none is chosen.
	last *candidate
}

func newExplainer(r Request) *explainer {
	e := &explainer{Request: r, all: candidates(r, criteria{Placement: &r.Placement, names: setOf(r.Placement.ClusterNames), now: r.Now})}
	e.spreads, _ = choose(r, e.all)
	for i := range e.all {
		if c := &e.all[i]; c.chosen && (e.last == nil || c.rank() >= e.last.rank()) {
			e.last = c
		}
	}
	return e
}

// chosen describes why a cluster is chosen.
func (e *explainer) chosen(c *candidate) string {
	message := "it matches the placement"
	if c.placed {
		message += ", and runs the application"
	} else if i := slices.IndexFunc(e.all, func(other candidate) bool { return other.yields(c) }); i >= 0 {
		message += ", and has more free capacity than " + e.all[i].Cluster.Name
	}
	var by []string
	for i := range e.Placement.Preferences {
		if of := &e.Placement.Preferences[i].Selector; mismatch(of, nil, c.Cluster) == "" {
			by = append(by, describe(of))
		}
	}
	if len(by) > 0 {
		message += fmt.Sprintf("; it is preferred by %s (weight %d)", strings.Join(by[:min(len(by), maxExamples)], " and "), c.weight)
	}
	return message
}

// describe names the criteria that a cluster meets.
func describe(by *v1.ClusterCriteria) string {
	var parts []string
	if len(by.ClusterNames) > 0 {
		parts = append(parts, "its name")
	}
	if len(by.Regions) > 0 {
		parts = append(parts, "its region")
	}
	if len(by.Providers) > 0 {
		parts = append(parts, "its provider")
	}
	if by.ClusterSelector != nil {
		parts = append(parts, metav1.FormatLabelSelector(labelSelector(by.ClusterSelector)))
	}
	if len(parts) == 0 {
		return "a selector of every cluster"
	}
	return strings.Join(parts, " with ")
}

// yields reports whether a cluster would be chosen in place of another one but for its free capacity.
func (c *candidate) yields(to *candidate) bool {
	return !c.runs() && c.domains == to.domains && c.Cluster.Name < to.Cluster.Name && c.weight == to.weight && c.free < to.free
}

// boundBy reports whether a reason is that of a cluster that matches, and that a bound rejects.
func boundBy(reason string) bool {
	return reason == v1.ReasonMaxClustersReached || reason == v1.ReasonSpreadLimit
}

// rejected describes why a cluster is rejected, and what it costs; empty if the reason says all.
func (e *explainer) rejected(of Rejection) string {
	c := find(e.all, of.Name)
	if c == nil {
		return ""
	}
	var parts []string
	if boundBy(of.Reason) {
		parts = append(parts, e.outranked(c))
	}
	if e.HasDatabase && c.placed && !c.Detached {
		parts = append(parts, leavesData)
	}
	return strings.Join(parts, "; ")
}

// outranked describes what decided against a cluster that a bound rejects.
func (e *explainer) outranked(c *candidate) string {
	s, last := e.spreads, e.last
	if text := s.explain(c); text != "" {
		return text
	}
	if last == nil || last.placed && !c.placed {
		return fmt.Sprintf("maxClusters is %d, and the application runs in %d", s.most, s.most-s.left)
	}
	switch first := last.Cluster.Name; {
	case c.rank() < last.rank() || c.rank() == last.rank() && c.Cluster.Name < first:
		return fmt.Sprintf("%s comes first for the spread", first)
	case c.class() > last.class():
		return "clusters that are ready and serve customers come first"
	case c.weight < last.weight:
		return fmt.Sprintf("it is preferred less than %s (weight %d to %d)", first, c.weight, last.weight)
	case c.free < last.free:
		return fmt.Sprintf("its free capacity is %s, and that of %s %s, in steps of 10 %%", freeText(c), first, freeText(last))
	default:
		return fmt.Sprintf("it comes after %s by name", first)
	}
}

func freeText(c *candidate) string {
	if c.Allocatable == nil || c.Requested == nil {
		return "unknown"
	}
	return fmt.Sprintf("%d %%", c.free*capacitySteps)
}

// explain describes the first bound of a spread that one more cluster exceeds; empty if it exceeds none.
func (s *spreader) explain(c *candidate) string {
	for i, l := range s.limits {
		ids, names := (*c.domains)[i], domainsOf(l.Topology, c.Cluster)
		switch bound, at := l.exceeded(ids); bound {
		case noBound:
		case unknownDomain:
			return fmt.Sprintf("its %s is unknown", l.Topology)
		case maxDomains:
			return fmt.Sprintf("%s %s would be another one, of at most %d", l.Topology, names[at], l.MaxDomains)
		case maxClustersPerDomain:
			return fmt.Sprintf("%s %s has %d of at most %d", l.Topology, names[at], l.chosen[ids[at]], l.MaxClustersPerDomain)
		case maxSkew:
			return fmt.Sprintf("%s %s has %d, and may have at most %d more than any other", l.Topology, names[at], l.chosen[ids[at]], l.MaxSkew)
		}
	}
	return ""
}
