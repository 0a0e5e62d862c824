package placement

import (
	"math/rand/v2"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestMatches: a cluster matches a placement whose criteria would choose it if it were ready.
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
			got, err := Matches(&w.Placement, &w.Clusters[i])
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
	invalid := &v1.Placement{ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}}
	if got, err := Matches(invalid, &Cluster{}); err == nil || got {
		t.Errorf("an invalid selector: %t, %v", got, err)
	}
}
