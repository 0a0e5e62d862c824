package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// ready makes a ready cluster; the options say what is different about it.
func ready(name, region string, provider v1.Provider, options ...func(*Cluster)) Cluster {
	c := Cluster{Name: name, Region: region, Provider: provider, Ready: true, Labels: map[string]string{"tier": "gold"}}
	for _, o := range options {
		o(&c)
	}
	return c
}

func notReady(c *Cluster) { c.Ready = false }
func detached(c *Cluster) { c.Detached = true }
func labelled(k, v string) func(*Cluster) {
	return func(c *Cluster) { c.Labels = map[string]string{k: v} }
}

func fleet() []Cluster {
	return []Cluster{
		ready("us-1", "us-central1", v1.ProviderGCP),
		ready("eu-1", "eu-west-1", v1.ProviderAWS),
		ready("asia-1", "southeastasia", v1.ProviderAzure, labelled("tier", "silver")),
	}
}

func selector(key, value string) *v1.ClusterLabelSelector {
	return &v1.ClusterLabelSelector{MatchLabels: map[string]string{key: value}}
}

// on returns clusters that run an application and serve no customers.
func on(names ...string) []Current {
	var current []Current
	for _, name := range names {
		current = append(current, Current{Name: name, Idle: true})
	}
	return current
}

// serving returns clusters that run an application and serve customers.
func serving(names ...string) []Current {
	current := on(names...)
	for i := range current {
		current[i].Serving, current[i].Idle = true, false
	}
	return current
}

// decision is one row of a table.
type decision struct {
	spec     v1.Placement
	clusters []Cluster
	current  []string
	want     Decision
}

func check(t *testing.T, tests map[string]decision) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Decide(Request{Placement: tt.spec, Clusters: tt.clusters, Current: on(tt.current...), Edited: true, SelectionEdited: true})
			if err != nil {
				t.Fatalf("Decide: %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecideReadiness(t *testing.T) {
	t.Parallel()
	check(t, map[string]decision{
		"an empty fleet": {},
		"nothing given takes every ready cluster": {
			clusters: fleet(),
			want:     Decision{Chosen: []string{"asia-1", "eu-1", "us-1"}},
		},
		"a cluster that is not ready waits": {
			clusters: []Cluster{ready("a", "r", v1.ProviderAWS, notReady), ready("b", "r", v1.ProviderAWS)},
			want: Decision{
				Chosen:   []string{"b"},
				Rejected: []Rejection{{"a", v1.ReasonClusterNotReady}},
			},
		},
		"a placed cluster that is no longer ready stays": {
			clusters: []Cluster{ready("a", "r", v1.ProviderAWS, notReady), ready("b", "r", v1.ProviderAWS)},
			current:  []string{"a"},
			want:     Decision{Chosen: []string{"a", "b"}},
		},
		"of too many placed clusters the ready ones stay": {
			spec:     v1.Placement{MaxClusters: 1},
			clusters: []Cluster{ready("a", "r", v1.ProviderAWS, notReady), ready("b", "r", v1.ProviderAWS)},
			current:  []string{"a", "b"},
			want: Decision{
				Chosen:   []string{"b"},
				Rejected: []Rejection{{"a", v1.ReasonMaxClustersReached}},
			},
		},
		"a placed cluster that is not ready and no longer matches goes": {
			spec:     v1.Placement{ClusterCriteria: v1.ClusterCriteria{Regions: []string{"s"}}},
			clusters: []Cluster{ready("a", "r", v1.ProviderAWS, notReady), ready("b", "s", v1.ProviderAWS)},
			current:  []string{"a"},
			want: Decision{
				Chosen:   []string{"b"},
				Rejected: []Rejection{{"a", v1.ReasonRegionNotListed}},
			},
		},
	})
}

func TestDecideAfterChanges(t *testing.T) {
	t.Parallel()
	check(t, map[string]decision{
		"nothing moves when no cluster matches": {
			spec:     v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: []string{"mars-1"}}},
			clusters: []Cluster{ready("a", "r", v1.ProviderAWS), ready("b", "s", v1.ProviderAWS), ready("c", "s", v1.ProviderAWS, detached)},
			current:  []string{"b", "c"},
			want: Decision{
				Chosen: []string{"b"},
				Rejected: []Rejection{
					{"a", v1.ReasonNameNotListed},
					{"c", v1.ReasonClusterDetached},
					{"mars-1", v1.ReasonNoMatchingCluster},
				},
				Unmatched: "no cluster matches the placement, so the application stays on its current clusters: correct spec.placement, or delete the application",
			},
		},
		"a detached cluster goes even when placed and matching": {
			spec:     v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: []string{"a"}}},
			clusters: []Cluster{ready("a", "r", v1.ProviderAWS, detached)},
			current:  []string{"a"},
			want: Decision{
				Rejected: []Rejection{{"a", v1.ReasonClusterDetached}},
			},
		},
		"a placed cluster that no longer exists is forgotten": {
			clusters: []Cluster{ready("b", "r", v1.ProviderAWS)},
			current:  []string{"a"},
			want:     Decision{Chosen: []string{"b"}},
		},
	})
}

func TestDecideNames(t *testing.T) {
	t.Parallel()
	check(t, map[string]decision{
		"by name, and the name of no member": {
			spec:     v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: []string{"us-1", "mars-1"}}},
			clusters: fleet(),
			want: Decision{
				Chosen: []string{"us-1"},
				Rejected: []Rejection{
					{"asia-1", v1.ReasonNameNotListed},
					{"eu-1", v1.ReasonNameNotListed},
					{"mars-1", v1.ReasonNoMatchingCluster},
				},
			},
		},
		"by label": {
			spec:     v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterSelector: selector("tier", "silver")}},
			clusters: fleet(),
			want: Decision{
				Chosen: []string{"asia-1"},
				Rejected: []Rejection{
					{"eu-1", v1.ReasonNotSelected},
					{"us-1", v1.ReasonNotSelected},
				},
			},
		},
		"by the implied label of the region, against a label that lies": {
			spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterSelector: selector(corev1.LabelTopologyRegion, "r")}},
			clusters: []Cluster{
				ready("a", "r", v1.ProviderAWS, labelled(corev1.LabelTopologyRegion, "elsewhere")),
				ready("b", "s", v1.ProviderAWS, labelled(corev1.LabelTopologyRegion, "r")),
			},
			want: Decision{
				Chosen:   []string{"a"},
				Rejected: []Rejection{{"b", v1.ReasonNotSelected}},
			},
		},
		"by the implied label of the provider": {
			spec:     v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterSelector: selector(v1.ProviderLabel, "gcp")}},
			clusters: fleet()[:2],
			want: Decision{
				Chosen:   []string{"us-1"},
				Rejected: []Rejection{{"eu-1", v1.ReasonNotSelected}},
			},
		},
		"an empty selector selects everything": {
			spec:     v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterSelector: &v1.ClusterLabelSelector{}}},
			clusters: fleet()[:1],
			want:     Decision{Chosen: []string{"us-1"}},
		},
	})
}

func TestDecideCriteria(t *testing.T) {
	t.Parallel()
	check(t, map[string]decision{
		"by region and provider, all must hold": {
			spec: v1.Placement{
				ClusterCriteria: v1.ClusterCriteria{Regions: []string{"eu-west-1", "us-central1"},
					Providers: []v1.Provider{v1.ProviderAWS, v1.ProviderAzure}},
			},
			clusters: fleet(),
			want: Decision{
				Chosen: []string{"eu-1"},
				Rejected: []Rejection{
					{"asia-1", v1.ReasonRegionNotListed},
					{"us-1", v1.ReasonProviderNotListed},
				},
			},
		},
		"an unknown region is in no list": {
			spec:     v1.Placement{ClusterCriteria: v1.ClusterCriteria{Regions: []string{"r"}}},
			clusters: []Cluster{ready("a", "", "")},
			want: Decision{
				Rejected: []Rejection{{"a", v1.ReasonRegionNotListed}},
			},
		},
	})
}

func TestDecideBound(t *testing.T) {
	t.Parallel()
	check(t, map[string]decision{
		"a bound takes by name": {
			spec:     v1.Placement{MaxClusters: 2},
			clusters: fleet(),
			want: Decision{
				Chosen:   []string{"asia-1", "eu-1"},
				Rejected: []Rejection{{"us-1", v1.ReasonMaxClustersReached}},
			},
		},
		"a bound takes placed clusters first, lost ones too": {
			spec: v1.Placement{MaxClusters: 1},
			clusters: []Cluster{
				ready("a", "r", v1.ProviderAWS),
				ready("z", "r", v1.ProviderAWS, notReady),
			},
			current: []string{"z"},
			want: Decision{
				Chosen:   []string{"z"},
				Rejected: []Rejection{{"a", v1.ReasonMaxClustersReached}},
			},
		},
	})
}

func TestDecideRefusesASelectorWithoutMeaning(t *testing.T) {
	t.Parallel()
	spec := v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterSelector: &v1.ClusterLabelSelector{
		MatchExpressions: []v1.ClusterRequirement{{Key: "tier", Operator: "Near", Values: []string{"gold"}}},
	}}}
	if _, err := Decide(Request{Placement: spec, Clusters: fleet()}); err == nil {
		t.Error("Decide took a selector with an unknown operator")
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	rejected := []Rejection{
		{"a", v1.ReasonNotSelected}, {"b", v1.ReasonClusterNotReady}, {"c", v1.ReasonNotSelected},
		{"d", v1.ReasonNotSelected}, {"e", v1.ReasonNotSelected},
	}
	want := []v1.RejectedClusters{
		{Reason: v1.ReasonClusterNotReady, Clusters: 1, Examples: []string{"b"}},
		{Reason: v1.ReasonNotSelected, Clusters: 4, Examples: []string{"a", "c", "d"}},
	}
	if diff := cmp.Diff(want, Decision{Rejected: rejected}.Counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if counts := (Decision{}).Counts(); counts != nil {
		t.Errorf("counts of nothing: %v", counts)
	}
}
