package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestResults checks that each message says what decided about a cluster, and nothing that did not.
func TestResults(t *testing.T) {
	t.Parallel()
	const matches, runs, served = "it matches the placement", "it matches the placement, and runs the application", "clusters that are ready and serve customers come first"
	by := func(most int32, s v1.Spread) v1.Placement {
		s.Topology = v1.TopologyRegion
		return v1.Placement{MaxClusters: most, Spread: []v1.Spread{s}}
	}
	a, b, c := ready("a", "r", "", using(50, 0)), ready("b", "r", "", using(0, 0)), ready("c", "s", "", using(0, 0))
	for name, tt := range map[string]struct {
		Request
		want map[string]string
	}{
		"by name": {
			Request{Placement: v1.Placement{MaxClusters: 1}, Clusters: []Cluster{b, c}}, map[string]string{"b": matches, "c": "it comes after b by name"},
		},
		"by preference": {
			Request{Placement: v1.Placement{MaxClusters: 1, Preferences: []v1.WeightedClusters{
				{Weight: 10, Selector: v1.ClusterCriteria{Regions: []string{"s"}}}, {Weight: 5, Selector: v1.ClusterCriteria{ClusterSelector: &v1.ClusterLabelSelector{MatchLabels: map[string]string{"tier": "gold"}}}},
			}}, Clusters: []Cluster{b, c}},
			map[string]string{
				"b": "it is preferred less than c (weight 5 to 15)",
				"c": matches + "; it is preferred by its region and tier=gold (weight 15)",
			},
		},
		"by a maximum in each region": {
			Request{Placement: by(0, v1.Spread{MaxClustersPerDomain: 1}), Clusters: []Cluster{a, b, c}},
			map[string]string{"a": "region r has 1 of at most 1", "b": matches + ", and has more free capacity than a", "c": matches},
		},
		"by a maximum of regions": {
			Request{Placement: by(0, v1.Spread{MaxDomains: 1}), Clusters: []Cluster{a, c}, Current: serving("a")},
			map[string]string{"a": runs, "c": "region s would be another one, of at most 1"},
		},
		"by a skew": {
			Request{Placement: by(0, v1.Spread{MaxSkew: 1}), Clusters: []Cluster{a, b, ready("d", "r", ""), c}, Current: serving("a", "b", "c")},
			map[string]string{"a": runs, "b": runs, "c": runs, "d": "region r has 2, and may have at most 1 more than any other"},
		},
		"by a minimum of regions": {
			Request{Placement: by(2, v1.Spread{MinDomains: 2}), Clusters: []Cluster{b, ready("b2", "r", "", using(0, 0)), c}},
			map[string]string{"b": matches, "b2": "c comes first for the spread", "c": matches},
		},
		"a region that is unknown": {
			Request{Placement: by(0, v1.Spread{MaxDomains: 2}), Clusters: []Cluster{a, ready("e", "", "")}},
			map[string]string{"a": matches, "e": "its region is unknown"},
		},
		"of those that run it, by what serves": {
			Request{Placement: v1.Placement{MaxClusters: 1}, Clusters: []Cluster{a, b, ready("d", "r", "", notReady)}, Current: append(on("a", "d"), serving("b")...), Edited: true},
			map[string]string{"a": served, "b": runs, "d": served},
		},
		"all places are taken by data": {
			Request{Placement: v1.Placement{MaxClusters: 1, ClusterCriteria: v1.ClusterCriteria{Regions: []string{"s"}}}, Clusters: []Cluster{b, c}, Current: serving("b"), HasDatabase: true},
			map[string]string{
				"b": "RegionNotListed; it stays because its database would be left behind: to move without the data, add b to the annotation ecommerce.io/move-empty",
				"c": "maxClusters is 1, and the application runs in 1",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkMessages(t, tt.Request, tt.want)
		})
	}
}

// TestResultsOfTooMany: of clusters that run the application, those that serve and are ready come first.
func TestResultsOfTooMany(t *testing.T) {
	t.Parallel()
	const runs, served = "it matches the placement, and runs the application", "clusters that are ready and serve customers come first"
	a, b, c := ready("a", "r", ""), ready("b", "r", ""), ready("c", "s", "")
	for name, tt := range map[string]struct {
		Request
		want map[string]string
	}{
		"data takes more places than there are": {
			Request{Placement: v1.Placement{MaxClusters: 1}, Clusters: []Cluster{a, b, c}, Current: serving("a", "b"), HasDatabase: true},
			map[string]string{
				"a": runs, "c": "maxClusters is 1, and the application runs in 2",
				"b": "MaxClustersReached; it stays because its database would be left behind: to move without the data, add b to the annotation ecommerce.io/move-empty",
			},
		},
		"of those that serve, by what is ready": {
			Request{Placement: v1.Placement{MaxClusters: 1}, Clusters: []Cluster{ready("a", "r", "", notReady), b}, Current: serving("a", "b"), Edited: true},
			map[string]string{"a": served, "b": runs},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkMessages(t, tt.Request, tt.want)
		})
	}
}

// TestResultsWithData checks that the message of a cluster that is left with a database says so, because the hub
// asks no more.
func TestResultsWithData(t *testing.T) {
	t.Parallel()
	const matches, left = "it matches the placement", "the application leaves its database behind: volumes and backups stay in the cluster"
	named := v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: []string{"us"}}}
	edited := Request{Placement: named, Clusters: []Cluster{eu(), us()}, Current: serving("eu"), HasDatabase: true, Edited: true, SelectionEdited: true}
	with := func(change func(*Request)) Request {
		r := edited
		change(&r)
		return r
	}
	for name, tt := range map[string]struct {
		Request
		want map[string]string
	}{
		"an edit leaves it":        {edited, map[string]string{"eu": left, "us": matches}},
		"there is no database":     {with(func(r *Request) { r.HasDatabase, r.Current = false, on("eu") }), map[string]string{"eu": "", "us": matches}},
		"it does not run there":    {with(func(r *Request) { r.Current = nil }), map[string]string{"eu": "", "us": matches}},
		"the cluster has detached": {with(func(r *Request) { r.Clusters = []Cluster{eu(detached), us()} }), map[string]string{"eu": "", "us": matches}},
		"a bound leaves it": {
			Request{Placement: v1.Placement{MaxClusters: 1}, Clusters: []Cluster{eu(), us()}, Current: serving("eu", "us"), HasDatabase: true, MoveEmpty: []string{"us"}},
			map[string]string{"eu": matches + ", and runs the application", "us": "it comes after eu by name; " + left},
		},
		"it is left later": {
			Request{Clusters: []Cluster{eu(drained), us()}, Current: serving("eu"), HasDatabase: true, MoveEmpty: []string{"eu"}},
			map[string]string{"eu": "Drained; it stays until customers are served in us; then " + left, "us": matches},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkMessages(t, tt.Request, tt.want)
		})
	}
}

func checkMessages(t *testing.T, r Request, want map[string]string) {
	t.Helper()
	d, err := Decide(r)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, result := range d.Results(r) {
		got[result.Cluster] = result.Message
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}
