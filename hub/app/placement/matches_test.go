package placement

import (
	"math/rand/v2"
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestMatches checks that a cluster matches a placement whose criteria would choose it if it were ready.
func TestMatches(t *testing.T) {
	t.Parallel()
	matched, compared := 0, 0
	for seed := range uint64(2000) {
		w := newProblem(rand.New(rand.NewPCG(seed, 4)))
		for i := range w.Clusters {
			able := w.Clusters[i]
			able.Ready, able.Paused, able.Detached, able.Scheduling, able.Taints = true, false, false, "", nil
			w.Placement.Spread = nil
			chosen, err := Decide(Request{Placement: w.Placement, Clusters: []Cluster{able}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := Matches(&w.Placement.ClusterCriteria, &w.Clusters[i])
			if want := len(chosen.Chosen) == 1; err != nil || got != want {
				t.Fatalf("seed %d: %+v matches %+v: %t, %v; want %t", seed, w.Clusters[i], w.Placement, got, err, want)
			}
			compared++
			if got {
				matched++
			}
		}
	}
	if matched < compared/10 || matched > compared*9/10 {
		t.Errorf("%d of %d match: the test says little", matched, compared)
	}
}

// TestWeightsMatch checks that a preference, a weight and an override select the clusters that a placement with the
// same criteria selects.
func TestWeightsMatch(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 5))
		w := newProblem(r)
		by := w.Placement.ClusterCriteria
		if r.IntN(2) == 0 {
			by.ClusterSelector = randomSelector(r)
		}
		weights := []v1.WeightedClusters{{Weight: 7, Selector: by}}
		spec := &v1.EcommerceAppSpec{Overrides: []v1.Override{{Selector: by, Replicas: new(int32(3))}}}
		for i := range w.Clusters {
			c := &w.Clusters[i]
			want, err := Matches(&by, c)
			if err != nil {
				t.Fatal(err)
			}
			if got := weightOf(c, weights) == 7; got != want {
				t.Errorf("seed %d: %+v is weighted by %+v: %t, want %t", seed, c, by, got, want)
			}
			if got := replacesShare(spec, c); got != want {
				t.Errorf("seed %d: %+v is overridden by %+v: %t, want %t", seed, c, by, got, want)
			}
		}
	}
}

// TestInvalidSelectors checks that an invalid label selector is an error that names it, wherever it stands.
func TestInvalidSelectors(t *testing.T) {
	t.Parallel()
	invalid := v1.ClusterCriteria{ClusterSelector: &v1.ClusterLabelSelector{MatchLabels: map[string]string{"a b": "c"}}}
	if got, err := Matches(&invalid, &Cluster{}); err == nil || got {
		t.Errorf("an invalid selector: %t, %v", got, err)
	}
	weighted := []v1.WeightedClusters{{Weight: 1}, {Weight: 1, Selector: invalid}}
	for want, p := range map[string]v1.Placement{
		"placement: parsing clusterSelector":                              {ClusterCriteria: invalid},
		"placement.preferences[1].selector: parsing clusterSelector":      {Preferences: weighted},
		"placement.replicas.weights[1].selector: parsing clusterSelector": {Replicas: v1.PlacementReplicas{Weights: weighted}},
	} {
		if _, err := Decide(Request{Placement: p}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
