package placement

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestDecideSpread(t *testing.T) {
	t.Parallel()
	zones := func(names ...string) func(*Cluster) { return func(c *Cluster) { c.Zones = names } }
	// Three clusters in r, one in s, one whose region is not known.
	clusters := []Cluster{
		ready("a", "r", v1.ProviderAWS, zones("r-1")), ready("b", "r", v1.ProviderAWS, zones("r-1", "r-2")), ready("c", "r", v1.ProviderGCP, zones("r-3")),
		ready("d", "s", v1.ProviderGCP, zones("s-1")), ready("e", "", v1.ProviderGCP),
	}
	by := func(s v1.Spread, clusters int32) v1.Placement {
		return v1.Placement{MaxClusters: clusters, Spread: []v1.Spread{s}}
	}
	checkRequests(t, map[string]request{
		"another region comes before another name": {
			Request: Request{Placement: by(v1.Spread{Topology: v1.TopologyRegion, MinDomains: 2}, 2), Clusters: clusters},
			want:    Decision{Chosen: []string{"a", "d"}},
		},
		"a maximum in each region": {
			Request: Request{Placement: by(v1.Spread{Topology: v1.TopologyRegion, MaxClustersPerDomain: 2}, 0), Clusters: clusters},
			want:    Decision{Chosen: []string{"a", "b", "d"}},
		},
		"a maximum of regions": {
			Request: Request{Placement: by(v1.Spread{Topology: v1.TopologyRegion, MaxDomains: 1}, 0), Clusters: clusters},
			want:    Decision{Chosen: []string{"a", "b", "c"}},
		},
		"a skew": {
			Request: Request{Placement: by(v1.Spread{Topology: v1.TopologyRegion, MaxSkew: 1}, 0), Clusters: clusters},
			want:    Decision{Chosen: []string{"a", "b", "d"}},
		},
		"a cluster counts in each of its zones": {
			Request: Request{Placement: by(v1.Spread{Topology: v1.TopologyZone, MaxClustersPerDomain: 1}, 0), Clusters: clusters},
			want:    Decision{Chosen: []string{"a", "c", "d"}},
		},
		"a minimum that there is not": {
			Request: Request{Placement: by(v1.Spread{Topology: v1.TopologyProvider, MinDomains: 3}, 0), Clusters: clusters},
			want: Decision{
				Chosen: []string{"a", "b", "c", "d", "e"},
				Unmet:  "spread by provider: minDomains is 3, and the chosen clusters have 2: clusters are exchanged when spec.placement is edited",
			},
		},
		"what runs is not exchanged": {
			Request: Request{Placement: by(v1.Spread{Topology: v1.TopologyRegion, MinDomains: 2}, 2), Clusters: clusters, Current: serving("a", "b")},
			want: Decision{
				Chosen: []string{"a", "b"},
				Unmet:  "spread by region: minDomains is 2, and the chosen clusters have 1: clusters are exchanged when spec.placement is edited",
			},
		},
		"unless the placement is edited": {
			Request: Request{Placement: by(v1.Spread{Topology: v1.TopologyRegion, MinDomains: 2}, 2), Clusters: clusters, Current: serving("a", "b", "d"), Edited: true},
			want:    Decision{Chosen: []string{"a", "d"}},
		},
		"a preferred cluster comes first": {
			Request: Request{
				Placement: v1.Placement{MaxClusters: 1, Preferences: []v1.WeightedClusters{
					{Weight: 10, Selector: v1.ClusterCriteria{Providers: []v1.Provider{v1.ProviderAWS}}}, {Weight: 20, Selector: v1.ClusterCriteria{Regions: []string{"s"}}},
				}},
				Clusters: clusters,
			},
			want: Decision{Chosen: []string{"d"}},
		},
	})
}

// TestDecideBeyondMinimum checks that once a minimum of regions is met, the name decides.
func TestDecideBeyondMinimum(t *testing.T) {
	t.Parallel()
	d, err := Decide(Request{
		Placement: v1.Placement{MaxClusters: 2, Spread: []v1.Spread{{Topology: v1.TopologyRegion, MinDomains: 1}}},
		Clusters:  []Cluster{ready("a", "r", ""), ready("b", "r", ""), ready("d", "s", "")},
	})
	if err != nil || !slices.Equal(d.Chosen, []string{"a", "b"}) {
		t.Errorf("chosen %v, %v", d.Chosen, err)
	}
}

// TestJoinMovesNothing checks that a cluster that joins is added at most; the application leaves none for it.
func TestJoinMovesNothing(t *testing.T) {
	t.Parallel()
	joined := 0
	for seed := range uint64(2000) {
		w := newProblem(rand.New(rand.NewPCG(seed, 4)))
		before, err := Decide(w.Request)
		if err != nil {
			t.Fatal(err)
		}
		if before.Unmatched != "" || len(before.Stays) > 0 {
			continue
		}
		w.Current, w.Edited, w.SelectionEdited = serving(before.Chosen...), false, false
		w.MoveEmpty = slices.DeleteFunc(w.MoveEmpty, func(name string) bool { return slices.Contains(before.UnusedMoves, name) }) // As the hub does.
		w.Clusters = append(w.Clusters, ready("new", "r1", v1.ProviderGCP, func(c *Cluster) { c.Zones = []string{"z1"} }))
		after, err := Decide(w.Request)
		if err != nil {
			t.Fatal(err)
		}
		left := slices.DeleteFunc(slices.Clone(before.Chosen), func(name string) bool { return slices.Contains(after.Chosen, name) })
		// A balanced spread may allow others because of it.
		if len(left) > 0 || len(w.Placement.Spread) == 0 && len(after.Chosen) > len(before.Chosen)+1 {
			t.Fatalf("seed %d: %v became %v: %s", seed, before.Chosen, after.Chosen, fmt.Sprintf("%+v", w.Request))
		}
		if len(after.Chosen) > len(before.Chosen) {
			joined++
		}
	}
	if joined < 100 {
		t.Errorf("%d of 2000 chose the new cluster: the test says little", joined)
	}
}

// spread checks that clusters that are chosen keep the limits, unless the application ran in some before.
func (pr problem) spread(_ *rand.Rand, d Decision) string {
	before := slices.ContainsFunc(d.Chosen, func(name string) bool { return slices.Contains(pr.current, name) })
	if before || d.Unmatched != "" || len(d.Chosen) == 0 {
		return ""
	}
	for _, s := range pr.Placement.Spread {
		counts, most := pr.counts(s.Topology, d), 0
		for _, n := range counts {
			most = max(most, n)
		}
		if s.MaxDomains > 0 && len(counts) > int(s.MaxDomains) || s.MaxClustersPerDomain > 0 && most > int(s.MaxClustersPerDomain) {
			return fmt.Sprintf("%v for %+v", counts, s)
		}
		if skew := most - pr.least(s.Topology, d, counts); s.MaxSkew > 0 && skew > int(s.MaxSkew) {
			return fmt.Sprintf("%v differ by %d for %+v", counts, skew, s)
		}
		if len(counts) < int(s.MinDomains) && d.Unmet == "" {
			return "a minimum is not met, and the decision does not say so"
		}
	}
	return ""
}

// least returns the smallest number of chosen clusters in a domain of a cluster that may be chosen, by the numbers
// of domains that have any.
func (pr problem) least(topology v1.Topology, d Decision, counts map[string]int) int {
	least := math.MaxInt
	for i := range pr.Clusters {
		c := &pr.Clusters[i]
		fits := slices.Contains(d.Chosen, c.Name) || slices.ContainsFunc(d.Rejected, func(x Rejection) bool {
			return x.Name == c.Name && (x.Reason == v1.ReasonSpreadLimit || x.Reason == v1.ReasonMaxClustersReached)
		})
		if !fits {
			continue
		}
		for _, domain := range domainsOf(topology, c) {
			least = min(least, counts[domain])
		}
	}
	return least
}

// counts returns the number of chosen clusters by domain.
func (pr problem) counts(topology v1.Topology, d Decision) map[string]int {
	counts := map[string]int{}
	for i := range pr.Clusters {
		if c := &pr.Clusters[i]; slices.Contains(d.Chosen, c.Name) {
			for _, domain := range domainsOf(topology, c) {
				counts[domain]++
			}
		}
	}
	return counts
}

// TestRank checks that no rank is negative, since candidates are sorted by their ranks and places in one number.
func TestRank(t *testing.T) {
	t.Parallel()
	best := candidate{Cluster: &Cluster{Ready: true}, Current: Current{Serving: true}, placed: true, weight: maxPreference, free: capacitySteps}
	if got := best.rank(); got != 0 {
		t.Errorf("the best rank is %d", got)
	}
}
