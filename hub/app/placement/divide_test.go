package placement

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestShares(t *testing.T) {
	t.Parallel()
	divided := v1.Placement{Replicas: v1.PlacementReplicas{
		Mode: v1.ReplicasDivided, Weights: []v1.WeightedClusters{{Weight: 3, Selector: v1.ClusterCriteria{Providers: []v1.Provider{v1.ProviderAWS}}}},
	}}
	even := v1.Placement{Replicas: v1.PlacementReplicas{Mode: v1.ReplicasDivided}}
	for name, tt := range map[string]struct {
		spec v1.EcommerceAppSpec
		want string
	}{
		"duplicated":           {v1.EcommerceAppSpec{Replicas: new(int32(4))}, ""},
		"by weight":            {v1.EcommerceAppSpec{Placement: divided, Replicas: new(int32(4))}, "eu-1 frontend 3; us-1 frontend 1; "},
		"the frontend's own":   {v1.EcommerceAppSpec{Placement: divided, Replicas: new(int32(4)), Frontend: v1.Workload{Replicas: new(int32(8))}}, "eu-1 frontend 6; us-1 frontend 2; "},
		"with a backend":       {v1.EcommerceAppSpec{Placement: even, Replicas: new(int32(3)), Backend: v1.Workload{Image: "b:1"}}, "eu-1 frontend 2 backend 1; us-1 frontend 1 backend 0; "},
		"one for two clusters": {v1.EcommerceAppSpec{Placement: even}, "eu-1 frontend 1; us-1 frontend 0; "},
		"autoscaling":          {v1.EcommerceAppSpec{Placement: even, Frontend: v1.Workload{Autoscaling: &v1.Autoscaling{}}, Backend: v1.Workload{Image: "b:1", Replicas: new(int32(2))}}, "eu-1 backend 1; us-1 backend 1; "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := printed(Shares(Division{Spec: &tt.spec, Clusters: fleet(), Chosen: []string{"us-1", "eu-1"}}))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("shares (-want +got):\n%s", diff)
			}
			if none := Shares(Division{Spec: &tt.spec, Clusters: fleet(), Chosen: []string{"nosuch"}}); len(none) > 0 {
				t.Errorf("shares of a cluster that is unknown: %v", none)
			}
		})
	}
}

// TestDecideDivided checks that a cluster that is left keeps its pods until the others have theirs ready.
func TestDecideDivided(t *testing.T) {
	t.Parallel()
	spec := &v1.EcommerceAppSpec{Replicas: new(int32(8)), Placement: v1.Placement{Replicas: v1.PlacementReplicas{Mode: v1.ReplicasDivided}}}
	last := map[string]v1.ReplicaShare{"eu": {Frontend: new(int32(6))}, "us": {Frontend: new(int32(2))}}
	ready := func(eu, us int32) []Current {
		current := serving("eu", "us")
		current[0].Frontend, current[1].Frontend = eu, us
		return current
	}
	overridden := spec.DeepCopy()
	overridden.Overrides = []v1.Override{{Selector: v1.ClusterCriteria{Regions: []string{"s"}}, Replicas: new(int32(3))}}
	withBackend := spec.DeepCopy()
	withBackend.Backend = v1.Workload{Image: "b:1", Replicas: new(int32(2))}
	backendReady := ready(6, 8)
	backendReady[1].Backend = 2
	stalled := ready(6, 2)
	stalled[1].Stalled = true
	for name, tt := range map[string]struct {
		spec    *v1.EcommerceAppSpec
		current []Current
		leaves  bool
	}{
		"no cluster serves with its share":      {spec, ready(6, 2), false},
		"some of its pods are ready":            {spec, ready(6, 7), false},
		"all are":                               {spec, ready(6, 8), true},
		"an override replaces the share":        {overridden, ready(6, 3), true},
		"it waits for a user":                   {spec, stalled, true},
		"the backend has not reached its share": {withBackend, ready(6, 8), false},
		"the backend has reached its share":     {withBackend, backendReady, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Decide(Request{
				Placement: tt.spec.Placement, Clusters: []Cluster{eu(drained), us()}, Current: tt.current, Division: Division{Spec: tt.spec, Last: last},
			})
			if err != nil {
				t.Fatal(err)
			}
			want := "eu frontend 6; us frontend 8; "
			if tt.leaves {
				want = "us frontend 8; "
			}
			shares := got.Shares
			if us := shares["us"]; us.Backend != nil {
				us.Backend = nil
				shares["us"] = us
			}
			if diff := cmp.Diff(want, printed(shares)); diff != "" {
				t.Errorf("shares (-want +got):\n%s", diff)
			}
			if slices.Contains(got.Chosen, "eu") == tt.leaves {
				t.Errorf("chosen %v, awaits %v", got.Chosen, got.Awaits)
			}
		})
	}
}

// TestDrainKeepsReplicas checks that while random fleets change, at least as many pods are to run as the spec has,
// and no cluster is left before the others have their shares.
func TestDrainKeepsReplicas(t *testing.T) {
	t.Parallel()
	waited := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 8))
		w := newProblem(r)
		total := r.Int32N(20)
		w.Placement.Replicas = v1.PlacementReplicas{Mode: v1.ReplicasDivided, By: []v1.ReplicaDivision{"", v1.DivideByFreeCapacity}[r.IntN(2)]}
		w.Division = Division{Spec: &v1.EcommerceAppSpec{Replicas: &total, Placement: w.Placement}, Last: map[string]v1.ReplicaShare{}}
		for i := range w.Current {
			w.Division.Last[w.Current[i].Name] = v1.ReplicaShare{Frontend: new(r.Int32N(10))}
			w.Current[i].Frontend = r.Int32N(10)
		}
		got, err := Decide(w.Request)
		if err != nil {
			t.Fatal(err)
		}
		if problem := w.divided(got, total); problem != "" {
			t.Fatalf("seed %d: %s\nproblem: %+v\ndecision: %+v", seed, problem, w, got)
		}
		if got.Pending() && got.Unmatched == "" {
			waited++
		}
	}
	if waited < 100 {
		t.Errorf("%d of 3000 wait for others: the test says little", waited)
	}
}

// divided returns what is wrong with the shares of a decision, or nothing.
func (pr problem) divided(d Decision, total int32) string {
	if len(d.Chosen) == 0 {
		return ""
	}
	var sum int32
	short := false
	for _, name := range d.Chosen {
		share := *d.Shares[name].Frontend
		if slices.ContainsFunc(d.Stays, func(s Stay) bool { return s.Name == name && s.Reason == v1.ReasonReplacementPending }) {
			if share != *pr.Division.Last[name].Frontend {
				return "a cluster that is being left loses pods: " + name
			}
			continue
		}
		sum += share
		c := slices.IndexFunc(pr.Clusters, func(c Cluster) bool { return c.Name == name })
		i := slices.IndexFunc(pr.Current, func(c Current) bool { return c.Name == name })
		short = short || pr.Clusters[c].Ready && (i < 0 || pr.Current[i].Serving && pr.Current[i].Frontend < share)
	}
	if sum != total {
		return fmt.Sprintf("%d pods of %d", sum, total)
	}
	for _, c := range pr.Current {
		i := slices.IndexFunc(pr.Clusters, func(cluster Cluster) bool { return cluster.Name == c.Name })
		left := !slices.Contains(d.Chosen, c.Name) && c.Serving && !pr.Clusters[i].Detached && (!pr.HasDatabase || slices.Contains(pr.MoveEmpty, c.Name))
		if left && short {
			return "left before the others have their shares: " + c.Name
		}
	}
	return ""
}

// printed returns shares as a text.
func printed(shares map[string]v1.ReplicaShare) string {
	var text strings.Builder
	for _, cluster := range slices.Sorted(maps.Keys(shares)) {
		text.WriteString(cluster)
		if n := shares[cluster].Frontend; n != nil {
			fmt.Fprint(&text, " frontend ", *n)
		}
		if n := shares[cluster].Backend; n != nil {
			fmt.Fprint(&text, " backend ", *n)
		}
		text.WriteString("; ")
	}
	return text.String()
}

// TestDivide checks that no replica is lost or invented, none is taken when the total rises, and another cluster
// takes from the others and gives to none.
func TestDivide(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 5))
		var weights []int64
		for range 1 + r.IntN(8) {
			weights = append(weights, 1+r.Int64N(100))
		}
		total := r.Int32N(60)
		shares, more, joined := given(total, weights), given(total+1, weights), given(total, append(weights, 1+r.Int64N(100)))
		problem := firstProblem(
			equalSum(shares, total), equalSum(joined, total),
			monotone("a rise", shares, more), monotone("a cluster that joins", joined[:len(shares)], shares),
		)
		if problem != "" {
			t.Fatalf("seed %d: %s: %d among %v", seed, problem, total, weights)
		}
	}
}

// given returns the shares of clusters with weights in a total.
func given(total int32, weights []int64) []int32 {
	var all []*sharer
	for _, weight := range weights {
		all = append(all, &sharer{weight: weight})
	}
	give(total, all)
	var shares []int32
	for _, s := range all {
		shares = append(shares, s.share)
	}
	return shares
}
