package placement

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// capacity returns cpus, GiB of memory, and a thousand pods for each cpu.
func capacity(cpus, memory int64) v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU:    *resource.NewQuantity(cpus, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(memory<<30, resource.BinarySI),
		v1.ResourcePods:   *resource.NewQuantity(1000*cpus, resource.DecimalSI),
	}
}

// using requests an amount of 100 cpus and 100 GiB.
func using(cpus, memory int64) func(*Cluster) {
	return func(c *Cluster) { c.Allocatable, c.Requested = capacity(100, 100), capacity(cpus, memory) }
}

func TestFreeSteps(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		use  func(*Cluster)
		want int
	}{
		"nothing is requested":      {using(0, 0), 10},
		"less than a tenth is":      {using(5, 0), 9},
		"memory is scarce":          {using(10, 71), 2},
		"cpu is scarce":             {using(95, 10), 0},
		"more than there is":        {using(120, 10), 0},
		"unknown":                   {func(*Cluster) {}, 0},
		"requests are unknown":      {func(c *Cluster) { c.Allocatable = capacity(1, 1) }, 0},
		"no node is ready":          {func(c *Cluster) { c.Requested = capacity(1, 1) }, 0},
		"a negative amount of cpus": {using(-5, 0), 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := ready("a", "", "", tt.use)
			if got := freeSteps(&c); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}

func TestFitting(t *testing.T) {
	t.Parallel()
	amounts := func(cpu, memory string) v1.Amounts {
		return v1.Amounts{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
	}
	few := capacity(100, 100)
	few[v1.ResourcePods] = resource.MustParse("7")
	none := capacity(0, 0)
	for name, tt := range map[string]struct {
		resources v1.Resources
		use       func(*Cluster)
		want      int64
	}{
		"by cpu":           {v1.Resources{Requests: amounts("2", "1Gi")}, using(50, 0), 25},
		"by memory":        {v1.Resources{Requests: amounts("10m", "2Gi")}, using(0, 50), 25},
		"by limits":        {v1.Resources{Limits: amounts("2", "1Gi")}, using(50, 0), 25},
		"by pods":          {v1.Resources{Requests: amounts("1", "1Gi")}, func(c *Cluster) { c.Allocatable, c.Requested = few, none }, 7},
		"without requests": {v1.Resources{}, using(50, 0), 500},
		"nothing is free":  {v1.Resources{}, using(100, 0), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := ready("a", "", "", tt.use)
			if got, known := fitting(&v1.Workload{Resources: tt.resources}, &c); got != tt.want || !known {
				t.Errorf("%d, %t; want %d", got, known, tt.want)
			}
		})
	}
}

// TestDecideByCapacity checks that of clusters that are preferred alike, those with more free capacity are chosen,
// and free capacity decides nothing else.
func TestDecideByCapacity(t *testing.T) {
	t.Parallel()
	gold := []v1.WeightedClusters{{Weight: 1, Selector: v1.ClusterCriteria{ClusterSelector: &v1.ClusterLabelSelector{MatchLabels: map[string]string{"tier": "gold"}}}}}
	silver := labelled("tier", "silver")
	for name, tt := range map[string]struct {
		spec     v1.Placement
		clusters []Cluster
		current  []Current
		want     []string
		messages map[string]string
	}{
		"the freer one": {
			spec: v1.Placement{MaxClusters: 1}, clusters: []Cluster{ready("a", "", "", using(50, 0)), ready("b", "", "", using(20, 0)), ready("c", "", "", using(20, 0))},
			want: []string{"b"}, messages: map[string]string{
				"a": "its free capacity is 50 %, and that of b 80 %, in steps of 10 %", "b": "it matches the placement, and has more free capacity than a", "c": "it comes after b by name",
			},
		},
		"the freer one beside what runs": {
			spec: v1.Placement{MaxClusters: 2}, clusters: []Cluster{ready("a", "", ""), ready("b", "", "", using(50, 0)), ready("c", "", "", using(20, 0))}, current: serving("a"),
			want: []string{"a", "c"}, messages: map[string]string{
				"a": "it matches the placement, and runs the application", "b": "its free capacity is 50 %, and that of c 80 %, in steps of 10 %", "c": "it matches the placement, and has more free capacity than b",
			},
		},
		"one whose requests are unknown": {
			spec: v1.Placement{MaxClusters: 1}, clusters: []Cluster{ready("a", "", "", func(c *Cluster) { c.Allocatable = capacity(1, 1) }), ready("b", "", "", using(80, 0))},
			want: []string{"b"}, messages: map[string]string{"a": "its free capacity is unknown, and that of b 20 %, in steps of 10 %", "b": "it matches the placement, and has more free capacity than a"},
		},
		"a small difference": {
			spec: v1.Placement{MaxClusters: 1}, clusters: []Cluster{ready("a", "", "", using(58, 0)), ready("b", "", "", using(51, 0))},
			want: []string{"a"}, messages: map[string]string{"a": "it matches the placement", "b": "it comes after a by name"},
		},
		"one that is unknown": {
			spec: v1.Placement{MaxClusters: 1}, clusters: []Cluster{ready("a", "", ""), ready("b", "", "", using(80, 0))},
			want: []string{"b"}, messages: map[string]string{"a": "its free capacity is unknown, and that of b 20 %, in steps of 10 %", "b": "it matches the placement, and has more free capacity than a"},
		},
		"what runs is not moved": {
			spec: v1.Placement{MaxClusters: 1}, clusters: []Cluster{ready("a", "", "", using(100, 0)), ready("b", "", "", using(0, 0))}, current: serving("a"),
			want: []string{"a"}, messages: map[string]string{"a": "it matches the placement, and runs the application", "b": "maxClusters is 1, and the application runs in 1"},
		},
		"preferences come first": {
			spec: v1.Placement{MaxClusters: 1, Preferences: gold}, clusters: []Cluster{ready("a", "", "", using(0, 0), silver), ready("b", "", "", using(90, 0))},
			want: []string{"b"}, messages: map[string]string{"a": "it is preferred less than b (weight 0 to 1)", "b": "it matches the placement; it is preferred by tier=gold (weight 1)"},
		},
		"a spread comes first": {
			spec:     v1.Placement{MaxClusters: 2, Spread: []v1.Spread{{Topology: v1.TopologyRegion, MaxClustersPerDomain: 1}}},
			clusters: []Cluster{ready("a", "r1", "", using(50, 0)), ready("b", "r1", "", using(0, 0)), ready("c", "r2", "", using(90, 0))},
			want:     []string{"b", "c"}, messages: map[string]string{
				"a": "region r1 has 1 of at most 1", "b": "it matches the placement, and has more free capacity than a", "c": "it matches the placement",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkDecision(t, Request{Placement: tt.spec, Clusters: tt.clusters, Current: tt.current}, tt.want, tt.messages)
		})
	}
}

func checkDecision(t *testing.T, r Request, want []string, wanted map[string]string) {
	t.Helper()
	d, err := Decide(r)
	if err != nil {
		t.Fatal(err)
	}
	messages := map[string]string{}
	for _, result := range d.Results(r) {
		messages[result.Cluster] = result.Message
	}
	if diff := cmp.Diff(want, d.Chosen) + cmp.Diff(wanted, messages); diff != "" {
		t.Errorf("chosen, and why (-want +got):\n%s", diff)
	}
}

// unmoved checks that once the chosen clusters run the application, no free capacity changes the decision.
func (pr problem) unmoved(r *rand.Rand, d Decision) string {
	next := pr.Request
	next.Current, next.Edited, next.SelectionEdited = serving(d.Chosen...), false, false
	settled, err := Decide(next)
	if err != nil || !slices.Equal(settled.Chosen, d.Chosen) {
		return "" // The decision is not settled yet: leaving a cluster lets another one be chosen.
	}
	next.Clusters = slices.Clone(pr.Clusters)
	for i := range next.Clusters {
		next.Clusters[i].Allocatable, next.Clusters[i].Requested = capacity(10, 100), capacity(r.Int64N(12), r.Int64N(120))
	}
	changed, err := Decide(next)
	if err != nil {
		return err.Error()
	}
	return cmp.Diff(settled, changed)
}
