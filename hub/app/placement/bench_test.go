package placement

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// members returns clusters of twenty regions and three providers.
func members(n int) []Cluster {
	providers := []v1.Provider{v1.ProviderAWS, v1.ProviderGCP, v1.ProviderAzure}
	clusters := make([]Cluster, 0, n)
	for i := range n {
		clusters = append(clusters, ready(fmt.Sprintf("member-%05d", i), fmt.Sprintf("region-%d", i%20), providers[i%3],
			labelled("tier", []string{"gold", "silver"}[i%2]), using(int64(i%100), int64(i%70))))
	}
	return clusters
}

// unaffected returns applications with each criterion, of which none has to do with the first of members: they do
// not match it, or run in as many clusters as they may.
func unaffected(n int) []v1.EcommerceApp {
	apps := make([]v1.EcommerceApp, n)
	for i := range n {
		spec := &apps[i].Spec.Placement
		switch i % 5 {
		case 0:
			spec.ClusterNames = []string{"member-00001", "member-00002", "member-00003"}
		case 1:
			spec.Regions = []string{"region-1", "region-2", "region-3"}
		case 2:
			spec.ClusterSelector, spec.MaxClusters = selector("tier", "silver"), 3
		case 3:
			spec.ClusterSelector = &v1.ClusterLabelSelector{MatchExpressions: []v1.ClusterRequirement{
				{Key: "tier", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"gold"}},
			}}
		default:
			spec.MaxClusters = 3
			apps[i].Status = decided(&apps[i], Decision{Chosen: []string{"member-00001", "member-00002", "member-00003"}})
		}
	}
	return apps
}

// BenchmarkDecide places one shop among 10,000 members.
func BenchmarkDecide(b *testing.B) {
	clusters := members(10_000)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(clusters), func(i, j int) { clusters[i], clusters[j] = clusters[j], clusters[i] })
	for name, spec := range map[string]v1.Placement{
		"everywhere": {MaxClusters: 100},
		"selector":   {ClusterCriteria: v1.ClusterCriteria{ClusterSelector: selector("tier", "silver")}, MaxClusters: 3},
		"region":     {ClusterCriteria: v1.ClusterCriteria{Regions: []string{"region-1"}}},
		"spread": {MaxClusters: 100, Preferences: []v1.WeightedClusters{{Weight: 1, Selector: v1.ClusterCriteria{ClusterSelector: &v1.ClusterLabelSelector{MatchLabels: map[string]string{"tier": "gold"}}}}}, Spread: []v1.Spread{
			{Topology: v1.TopologyRegion, MinDomains: 10, MaxSkew: 1}, {Topology: v1.TopologyProvider, MaxClustersPerDomain: 50},
		}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				decision, err := Decide(Request{Placement: spec, Clusters: clusters, Current: serving("member-00001")})
				if err != nil || len(decision.Chosen) == 0 {
					b.Fatal(err, decision.Chosen)
				}
				decision.Counts()
			}
		})
	}
}

// BenchmarkAffects asks 10,000 applications about an event of one member.
func BenchmarkAffects(b *testing.B) {
	apps, before := unaffected(10_000), members(1)[0]
	after := before
	after.Ready = false
	b.ReportAllocs()
	for b.Loop() {
		for i := range apps {
			if Affects(&apps[i], &before, &after) {
				b.Fatal(apps[i].Spec.Placement)
			}
		}
	}
}

// TestAffectsAllocatesNothing checks that an event of a member costs no garbage for the applications that it has
// nothing to do with.
func TestAffectsAllocatesNothing(t *testing.T) {
	apps, before := unaffected(1000), members(1)[0]
	after := before
	after.Ready = false
	affected := 0
	allocations := testing.AllocsPerRun(10, func() {
		for i := range apps {
			if Affects(&apps[i], &before, &after) {
				affected++
			}
		}
	})
	if allocations != 0 || affected != 0 {
		t.Errorf("%g allocations for 1000 applications, and %d are affected; want none", allocations, affected)
	}
}

// TestSelects checks that selectors match as those of Kubernetes.
func TestSelects(t *testing.T) {
	t.Parallel()
	matched, compared := 0, 0
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 3))
		w := newProblem(r)
		s := randomSelector(r)
		parsed, err := metav1.LabelSelectorAsSelector(labelSelector(s))
		if err != nil {
			t.Fatal(err)
		}
		for i := range w.Clusters {
			want := parsed.Matches(labelsOf(&w.Clusters[i]))
			if got := selects(s, &w.Clusters[i]); got != want {
				t.Fatalf("seed %d: %v matches %+v: %t, want %t", seed, s, w.Clusters[i], got, want)
			}
			compared++
			if want {
				matched++
			}
		}
	}
	if matched < compared/10 || matched > compared*9/10 {
		t.Errorf("%d of %d match: the test says little", matched, compared)
	}
}

// randomSelector returns a valid selector of up to three requirements.
func randomSelector(r *rand.Rand) *v1.ClusterLabelSelector {
	keys, values := []string{"tier", "topology.kubernetes.io/region", v1.ProviderLabel, "none"}, []string{"gold", "silver", "r1", "r3", string(v1.ProviderAWS)}
	s := &v1.ClusterLabelSelector{}
	if r.IntN(2) == 0 {
		s.MatchLabels = map[string]string{keys[r.IntN(4)]: values[r.IntN(5)]}
	}
	for range r.IntN(3) {
		operator := []metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist"}[r.IntN(4)]
		e := v1.ClusterRequirement{Key: keys[r.IntN(4)], Operator: operator}
		if operator == "In" || operator == "NotIn" {
			e.Values = []string{values[r.IntN(5)], values[r.IntN(5)]}
		}
		s.MatchExpressions = append(s.MatchExpressions, e)
	}
	return s
}

// labelsOf returns all labels that selectors see.
func labelsOf(c *Cluster) labels.Set {
	set := labels.Set{}
	maps.Copy(set, c.Labels)
	if c.Region != "" {
		set[corev1.LabelTopologyRegion] = c.Region
	}
	if c.Provider != "" {
		set[v1.ProviderLabel] = string(c.Provider)
	}
	return set
}
