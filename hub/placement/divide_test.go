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
		Mode: v1.ReplicasDivided, Weights: []v1.WeightedClusters{{Weight: 3, MatchLabels: map[string]string{v1.ProviderLabel: "aws"}}},
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
			got := printed(Shares(&tt.spec, fleet(), []string{"us-1", "eu-1"}))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("shares (-want +got):\n%s", diff)
			}
		})
	}
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

// TestDivide: no replica is lost or invented, none is taken when the total rises, and another cluster
// takes from the others and gives to none.
func TestDivide(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 5))
		var clusters []sharer
		for range 1 + r.IntN(8) {
			clusters = append(clusters, sharer{weight: 1 + r.Int64N(100)})
		}
		total := r.Int32N(60)
		shares, more := divide(total, clusters), divide(total+1, clusters)
		joined := divide(total, append(clusters, sharer{weight: 1 + r.Int64N(100)}))
		var sum, sumJoined int32
		for i := range joined {
			sumJoined += joined[i]
			if i == len(shares) {
				continue
			}
			sum += shares[i]
			if more[i] < shares[i] || joined[i] > shares[i] {
				t.Fatalf("seed %d: %d among %v are %v, one more %v, with one cluster more %v", seed, total, clusters, shares, more, joined)
			}
		}
		if sum != total || sumJoined != total {
			t.Fatalf("seed %d: %v and %v do not add up to %d", seed, shares, joined, total)
		}
	}
}
