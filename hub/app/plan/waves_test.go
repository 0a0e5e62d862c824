package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestWaves checks that a rollout has an order, and clusters that are left do not wait for it.
func TestWaves(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{}
	app.Status.Clusters = []v1.ClusterStatus{
		{Name: "asia-1", Region: "asia", Available: true}, {Name: "eu-1", Region: "eu", Available: true, Share: &v1.ReplicaShare{Frontend: new(int32(0))}},
		{Name: "eu-2", Region: "eu", Available: true}, {Name: "us-1", Region: "us", Available: true}, {Name: "us-2", Region: "us", Phase: v1.PhaseDeleting},
	}
	changing := []string{"eu-1", "eu-2", "us-1", "us-2"}
	for name, tt := range map[string]struct {
		spec *v1.Rollout
		want []v1.PlannedWave
	}{
		"at once":             {nil, []v1.PlannedWave{{Clusters: []string{"eu-1", "eu-2", "us-1", "us-2"}}}},
		"with replicas first": {&v1.Rollout{}, []v1.PlannedWave{{Clusters: []string{"eu-2"}}, {Clusters: []string{"eu-1"}}, {Clusters: []string{"us-1"}}}},
		"in order":            {&v1.Rollout{Order: []string{"us"}}, []v1.PlannedWave{{Clusters: []string{"us-1"}}, {Clusters: []string{"eu-1", "eu-2"}}}},
	} {
		if diff := cmp.Diff(tt.want, wavesOf(app, tt.spec, changing)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestWavesOfClustersThatDoNotServe checks that a rollout names the clusters that it does not wait for, without those
// that join or do not respond.
func TestWavesOfClustersThatDoNotServe(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{}
	app.Status.Clusters = []v1.ClusterStatus{
		{Name: "a", AppliedGeneration: 1}, {Name: "b", Available: true}, {Name: "c", Stale: true, AppliedGeneration: 1}, {Name: "d"},
	}
	changing := []string{"a", "b", "c", "d"}
	want := []v1.PlannedWave{{Clusters: []string{"b"}}, {Clusters: []string{"a", "c", "d"}, NotServing: []string{"a"}}}
	if diff := cmp.Diff(want, wavesOf(app, &v1.Rollout{}, changing)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := wavesOf(app, nil, changing); len(got) != 1 || got[0].NotServing != nil {
		t.Errorf("without a rollout: %v", got)
	}
}
