package placement

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// spreader chooses clusters within the limits of a placement.
type spreader struct {
	limits []*spreadLimit
	// most is the maximum number of clusters.
	most int
	// left is the number of clusters that may still be chosen.
	left int
	// known are the domains of clusters by what they depend on: many clusters have the same.
	known map[location]*domains
}

// location holds all that the domains of a cluster depend on. Zones are joined, and empty unless a limit is
// about them.
type location struct{ region, provider, zones string }

// spreadLimit is one entry of a spread, and what is chosen so far.
type spreadLimit struct {
	*v1.Spread
	// ids are the numbers of the domains that a cluster of the application may be in.
	ids map[string]int
	// chosen has the number of chosen clusters by domain, and covered is the number of domains
	// with any.
	chosen  []int
	covered int
}

// domains are the numbers of the domains of a cluster by limit; none where they are unknown.
type domains [][]int

func newSpreader(spec *v1.Placement) *spreader {
	s := &spreader{most: limitOf(spec), left: limitOf(spec), known: map[location]*domains{}}
	for i := range spec.Spread {
		s.limits = append(s.limits, &spreadLimit{Spread: &spec.Spread[i], ids: map[string]int{}})
	}
	return s
}

// register returns the domains of a cluster that may be chosen. All are registered before one is
// chosen: a domain without a chosen cluster counts for the skew.
func (s *spreader) register(c *Cluster) *domains {
	var at location
	for _, limit := range s.limits {
		switch limit.Topology {
		case v1.TopologyRegion:
			at.region = c.Region
		case v1.TopologyProvider:
			at.provider = string(c.Provider)
		case v1.TopologyZone:
			at.zones = strings.Join(c.Zones, ",")
		}
	}
	if known, is := s.known[at]; is {
		return known
	}
	all := make(domains, len(s.limits))
	for i, limit := range s.limits {
		for _, name := range domainsOf(limit.Topology, c) {
			id, known := limit.ids[name]
			if !known {
				id = len(limit.ids)
				limit.ids[name] = id
				limit.chosen = append(limit.chosen, 0)
			}
			all[i] = append(all[i], id)
		}
	}
	s.known[at] = &all
	return &all
}

// domainsOf returns the domains of a topology that a cluster belongs to; none if they are unknown.
func domainsOf(topology v1.Topology, c *Cluster) []string {
	var domain string
	switch topology {
	case v1.TopologyZone:
		return c.Zones
	case v1.TopologyRegion:
		domain = c.Region
	case v1.TopologyProvider:
		domain = string(c.Provider)
	}
	if domain == "" {
		return nil
	}
	return []string{domain}
}

// add counts a cluster that is chosen.
func (s *spreader) add(d *domains) {
	s.left--
	for i, limit := range s.limits {
		for _, id := range (*d)[i] {
			if limit.chosen[id] == 0 {
				limit.covered++
			}
			limit.chosen[id]++
		}
	}
}

// group are candidates in the same domains by rank. The limits allow any of them, or none.
type group struct {
	domains *domains
	ranks   []int
}

// choose calls take with candidates as far as the limits allow, the best first. Those that cover
// another domain come before others while a minimum is not met.
func (s *spreader) choose(byRank []*candidate, take func(*candidate)) {
	groups := groupsOf(byRank)
	for s.left > 0 {
		best := s.best(groups, true)
		if best == nil {
			best = s.best(groups, false)
		}
		if best == nil {
			return
		}
		s.add(best.domains)
		take(byRank[best.ranks[0]])
		best.ranks = best.ranks[1:]
	}
}

func groupsOf(byRank []*candidate) []*group {
	var all []*group
	byDomains := map[*domains]*group{}
	for rank, c := range byRank {
		g, known := byDomains[c.domains]
		if !known {
			g = &group{domains: c.domains}
			byDomains[c.domains] = g
			all = append(all, g)
		}
		g.ranks = append(g.ranks, rank)
	}
	return all
}

// best returns the group of the best candidate that the limits allow, or nil. With opening it has to
// cover another domain where a minimum is not met.
func (s *spreader) best(groups []*group, opening bool) *group {
	var best *group
	for _, g := range groups {
		if len(g.ranks) == 0 || best != nil && best.ranks[0] < g.ranks[0] || opening && !s.opens(*g.domains) {
			continue
		}
		if s.admits(*g.domains) {
			best = g
		}
	}
	return best
}

// admits reports whether the limits allow one more cluster.
func (s *spreader) admits(d domains) bool {
	for i, limit := range s.limits {
		if bound, _ := limit.exceeded(d[i]); bound != noBound {
			return false
		}
	}
	return true
}

// lacksDomain reports whether a limit needs domains of a cluster that are not known.
func (s *spreader) lacksDomain(d domains) bool {
	return slices.ContainsFunc(d, func(ids []int) bool { return len(ids) == 0 })
}

// bound is a bound of a spread.
type bound int

const (
	noBound bound = iota
	// unknownDomain means that a limit needs domains that are not known.
	unknownDomain
	maxDomains
	maxClustersPerDomain
	maxSkew
)

// exceeded returns the first bound that one more cluster in some domains exceeds, and in which of them.
func (l *spreadLimit) exceeded(ids []int) (of bound, at int) {
	if len(ids) == 0 {
		return unknownDomain, 0
	}
	if l.MaxDomains > 0 && l.covered+l.uncovered(ids) > int(l.MaxDomains) {
		return maxDomains, slices.IndexFunc(ids, func(id int) bool { return l.chosen[id] == 0 })
	}
	for i, id := range ids {
		n := l.chosen[id] + 1
		switch {
		case l.MaxClustersPerDomain > 0 && n > int(l.MaxClustersPerDomain):
			return maxClustersPerDomain, i
		case l.MaxSkew > 0 && n-slices.Min(l.chosen) > int(l.MaxSkew):
			return maxSkew, i
		}
	}
	return noBound, 0
}

// opens reports whether a cluster covers another domain where a minimum is not met.
func (s *spreader) opens(d domains) bool {
	for i, limit := range s.limits {
		if limit.covered < int(limit.MinDomains) && limit.uncovered(d[i]) > 0 {
			return true
		}
	}
	return false
}

// uncovered returns how many of some domains have no chosen cluster.
func (l *spreadLimit) uncovered(ids []int) int {
	n := 0
	for _, id := range ids {
		if l.chosen[id] == 0 {
			n++
		}
	}
	return n
}

// exceeded returns the reason to reject a cluster that is not chosen.
func (s *spreader) exceeded() string {
	if s.left <= 0 {
		return v1.ReasonMaxClustersReached
	}
	return v1.ReasonSpreadLimit
}

// unmet describes the bounds that the chosen clusters do not meet, and how they are exchanged; empty if
// they meet all. Data is true if the application has a database.
func (s *spreader) unmet(data bool) string {
	var problems []string
	if s.left < 0 {
		problems = append(problems, fmt.Sprintf("maxClusters is %d, and the application runs in %d", s.most, s.most-s.left))
	}
	for _, l := range s.limits {
		most, least := 0, 0
		if len(l.chosen) > 0 {
			most, least = slices.Max(l.chosen), slices.Min(l.chosen)
		}
		for _, bound := range []struct {
			field    string
			max, got int
		}{
			{"minDomains", -int(l.MinDomains), -l.covered},
			{"maxDomains", int(l.MaxDomains), l.covered},
			{"maxClustersPerDomain", int(l.MaxClustersPerDomain), most},
			{"maxSkew", int(l.MaxSkew), most - least},
		} {
			if bound.max != 0 && bound.got > bound.max {
				problems = append(problems, fmt.Sprintf("spread by %s: %s is %d, and the chosen clusters have %d",
					l.Topology, bound.field, max(bound.max, -bound.max), max(bound.got, -bound.got)))
			}
		}
	}
	if len(problems) == 0 {
		return ""
	}
	text := strings.Join(problems, "; ")
	if data {
		return text + ": a cluster with a database is exchanged, without its data, when the annotation " + v1.MoveEmptyAnnotation + " names it"
	}
	return text + ": clusters are exchanged when spec.placement is edited"
}

// maxPreference is the greatest weight of a cluster: twenty preferences of 100.
const maxPreference = 2000

// rank returns candidates, which are sorted by name, in the order in which they are chosen: those that run the
// application first, so that a limit never moves it without need, of those the ones that serve customers and
// then the ready ones, then by preference, then by free capacity, then by name. It sorts numbers, because
// comparing candidates takes several times as long.
func rank(candidates []*candidate) []*candidate {
	keys := make([]int, 0, len(candidates))
	for i, c := range candidates {
		keys = append(keys, c.rank()*len(candidates)+i)
	}
	slices.Sort(keys)
	ranked := make([]*candidate, 0, len(candidates))
	for _, key := range keys {
		ranked = append(ranked, candidates[key%len(candidates)])
	}
	return ranked
}

// rank returns a number that is lower for a candidate that is chosen before others, whatever its name.
func (c *candidate) rank() int {
	rank := c.class()*(maxPreference+1) + maxPreference - int(min(c.weight, maxPreference))
	return rank*(capacitySteps+1) + capacitySteps - c.free
}

// class returns the rank of a candidate by what it runs.
func (c *candidate) class() int {
	switch {
	case c.placed && c.Ready && c.Serving:
		return 0
	case c.placed && c.Ready:
		return 1
	case c.placed:
		return 2
	}
	return 3
}
