package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
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
		if diff := cmp.Diff(tt.want, wavesOf(Placed{App: app, Rollout: tt.spec}, changing)); diff != "" {
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
	if diff := cmp.Diff(want, wavesOf(Placed{App: app, Rollout: &v1.Rollout{}}, changing)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := wavesOf(Placed{App: app}, changing); len(got) != 1 || got[0].NotServing != nil {
		t.Errorf("without a rollout: %v", got)
	}
}

// TestWavesOfClustersThatAreNotReady checks that a cluster that serves customers, and of which something is bad, does not
// come first, as in the rollout.
func TestWavesOfClustersThatAreNotReady(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{}
	app.Status.Clusters = []v1.ClusterStatus{{Name: "a", Region: "eu", Available: true}, {Name: "b", Region: "eu", Available: true}}
	inOrder, last := [][]string{{"a"}, {"b"}}, [][]string{{"b"}, {"a"}}
	for name, tt := range map[string]struct {
		fact rollout.Cluster
		spec *v1.Rollout
		want [][]string
	}{
		"nothing is bad":            {rollout.Cluster{}, &v1.Rollout{}, inOrder},
		"a component is not ready":  {rollout.Cluster{Unready: []rollout.Component{{Name: "backend", Reason: v1.ReasonWaitingForReplicas}}}, &v1.Rollout{}, last},
		"a component is changed":    {rollout.Cluster{Unready: []rollout.Component{{Name: "backend", Changing: true}}}, &v1.Rollout{}, inOrder},
		"it needs a user":           {rollout.Cluster{Stalled: v1.ReasonStorageNotExpandable}, &v1.Rollout{}, last},
		"there is no order to keep": {rollout.Cluster{Stalled: v1.ReasonStorageNotExpandable}, nil, [][]string{{"a", "b"}}},
	} {
		tt.fact.Name = "a"
		var got [][]string
		for _, wave := range wavesOf(Placed{App: app, Rollout: tt.spec, Clusters: []rollout.Cluster{tt.fact}}, []string{"a", "b"}) {
			got = append(got, wave.Clusters)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
