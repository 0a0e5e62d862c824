package rollout

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestWaves(t *testing.T) {
	t.Parallel()
	clusters := []Cluster{
		{Name: "us-2", Region: "us", Serving: true}, {Name: "eu-3", Region: "eu", Serving: true}, {Name: "us-1", Region: "us", Serving: true},
		{Name: "eu-1", Region: "eu", Serving: true}, {Name: "asia-1", Region: "asia", Serving: true}, {Name: "eu-2", Region: "eu", Serving: true},
	}
	down := slices.Clone(clusters)
	down[3].Serving, down[4].Serving = false, false // eu-1 and asia-1.
	with := func(unready Component, names ...string) []Cluster {
		all := slices.Clone(clusters)
		for i := range all {
			if slices.Contains(names, all[i].Name) {
				all[i].Unready = []Component{unready}
			}
		}
		return all
	}
	backend := Component{Name: "backend", Reason: v1.ReasonWaitingForReplicas}
	none := []Cluster{{Name: "b", Region: "eu"}, {Name: "a", Region: "eu"}, {Name: "c", Region: "us"}}
	for name, tt := range map[string]struct {
		spec     *v1.Rollout
		clusters []Cluster
		want     [][]string
	}{
		"no rollout":             {nil, clusters, [][]string{{"asia-1", "eu-1", "eu-2", "eu-3", "us-1", "us-2"}}},
		"all":                    {&v1.Rollout{Strategy: v1.RolloutAll}, clusters, [][]string{{"asia-1", "eu-1", "eu-2", "eu-3", "us-1", "us-2"}}},
		"by name":                {&v1.Rollout{}, clusters, [][]string{{"asia-1"}, {"eu-1", "eu-2", "eu-3"}, {"us-1", "us-2"}}},
		"in order":               {&v1.Rollout{Order: []string{"us", "eu"}}, clusters, [][]string{{"us-1"}, {"us-2"}, {"eu-1", "eu-2", "eu-3"}, {"asia-1"}}},
		"one region":             {&v1.Rollout{}, clusters[:1], [][]string{{"us-2"}}},
		"no clusters":            {&v1.Rollout{}, nil, nil},
		"some are down":          {&v1.Rollout{}, down, [][]string{{"eu-2"}, {"eu-3", "asia-1", "eu-1"}, {"us-1", "us-2"}}},
		"all are down":           {&v1.Rollout{}, none, [][]string{{"a"}, {"b", "c"}}},
		"the first is not ready": {&v1.Rollout{}, with(backend, "asia-1"), [][]string{{"eu-1"}, {"asia-1"}, {"eu-2", "eu-3"}, {"us-1", "us-2"}}},
		"some are not ready":     {&v1.Rollout{}, with(backend, "asia-1", "eu-1", "eu-3"), [][]string{{"eu-2"}, {"asia-1"}, {"eu-1", "eu-3"}, {"us-1", "us-2"}}},
		"none is ready":          {&v1.Rollout{}, with(backend, "asia-1", "eu-1", "eu-2", "eu-3", "us-1", "us-2"), [][]string{{"asia-1"}, {"eu-1", "eu-2", "eu-3"}, {"us-1", "us-2"}}},
		"the first grows":        {&v1.Rollout{}, with(Component{Name: "database", Growing: true}, "asia-1"), [][]string{{"asia-1"}, {"eu-1", "eu-2", "eu-3"}, {"us-1", "us-2"}}},
		"not ready, all":         {&v1.Rollout{Strategy: v1.RolloutAll}, with(backend, "asia-1"), [][]string{{"asia-1", "eu-1", "eu-2", "eu-3", "us-1", "us-2"}}},
		"not ready, and without replicas": {&v1.Rollout{}, []Cluster{
			{Name: "a-1", Region: "a", NoReplicas: true, Serving: true}, {Name: "a-2", Region: "a", NoReplicas: true, Serving: true, Unready: []Component{backend}},
			{Name: "b-1", Region: "b", Serving: true, Stalled: v1.ReasonDatabaseLost}, {Name: "b-2", Region: "b", Serving: true},
		}, [][]string{{"a-1"}, {"b-2"}, {"a-2"}, {"b-1"}}},
		"all at once": {nil, down, [][]string{{"asia-1", "eu-1", "eu-2", "eu-3", "us-1", "us-2"}}},
		"without replicas": {&v1.Rollout{}, []Cluster{
			{Name: "a-1", Region: "a", NoReplicas: true, Serving: true}, {Name: "a-2", Region: "a", NoReplicas: true, Serving: true}, {Name: "b-1", Region: "b", NoReplicas: true, Serving: true},
			{Name: "b-2", Region: "b", Serving: true}, {Name: "b-3", Region: "b", Serving: true},
		}, [][]string{{"a-1"}, {"a-2"}, {"b-2"}, {"b-3", "b-1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Waves(tt.spec, tt.clusters)); diff != "" {
				t.Errorf("waves (-want +got):\n%s", diff)
			}
			if tt.spec != nil && len(tt.clusters) > 0 {
				checkFirstWave(t, *tt.spec, tt.clusters)
			}
		})
	}
}

// checkFirstWave checks that a rollout begins with the clusters of the first wave.
func checkFirstWave(t *testing.T, spec v1.Rollout, clusters []Cluster) {
	t.Helper()
	r := Request{Spec: spec, Revision: 2, Hash: "two", Last: complete(1), Clusters: slices.Clone(clusters), Now: start()}
	for i := range r.Clusters {
		c := &r.Clusters[i]
		c.Revision, c.Copied, c.Has, c.Settled = 1, 1, true, true
	}
	next, err := Next(r)
	if err != nil {
		t.Fatal(err)
	}
	var begun []string
	for _, u := range next.Status.Updating {
		begun = append(begun, u.Name)
	}
	if want := slices.Sorted(slices.Values(Waves(&spec, clusters)[0])); !slices.Equal(slices.Sorted(slices.Values(begun)), want) {
		t.Errorf("the rollout begins with %v, want %v", begun, want)
	}
}

// TestGuarded checks that clusters wait for their turn until the rollout has ended. What is no revision applies at
// once.
func TestGuarded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		last     *v1.RolloutStatus
		revision int64
		want     bool
	}{
		"a first revision":             {nil, 2, false},
		"an edit":                      {complete(1), 2, true},
		"a rollout in progress":        {rolling(), 2, true},
		"one that a failure holds":     {inPause(), 2, true},
		"a complete one":               {complete(2), 2, false},
		"one that was rolled back":     {inState(v1.RolloutRolledBack), 2, false},
		"an edit after a rollback":     {inState(v1.RolloutRolledBack), 3, true},
		"an edit back to the healthy":  {rolling(), 1, false},
		"one that is being taken back": {inState(v1.RolloutRollingBack), 2, false},
	} {
		if got := Guarded(Request{Revision: tt.revision, Hash: "hash", Last: tt.last, Now: start()}); got != tt.want {
			t.Errorf("%s: guarded %t, want %t", name, got, tt.want)
		}
	}
}

// TestGuardedWithoutHealthy checks that while no revision was healthy, clusters that serve customers with another one
// wait for their turn, as Next decides.
func TestGuardedWithoutHealthy(t *testing.T) {
	t.Parallel()
	never := &v1.RolloutStatus{Revision: 2, SpecHash: "two", State: v1.RolloutProgressing}
	for name, tt := range map[string]struct {
		last    *v1.RolloutStatus
		cluster Cluster
		want    bool
	}{
		"one that serves":                   {never, Cluster{Revision: 2, Serving: true}, true},
		"one that does not":                 {never, Cluster{Revision: 2}, false},
		"one that has the revision":         {never, Cluster{Revision: 3, Serving: true}, false},
		"one without a revision":            {never, Cluster{Serving: true}, false},
		"one that serves, without a status": {nil, Cluster{Revision: 1, Serving: true}, true},
	} {
		tt.cluster.Name, tt.cluster.Region = "a", "r"
		other := tt.cluster
		other.Name = "b"
		r := Request{Revision: 3, Hash: "hash", Last: tt.last, Clusters: []Cluster{tt.cluster, other}, Now: start()}
		if got := Guarded(r); got != tt.want {
			t.Errorf("%s: guarded %t, want %t", name, got, tt.want)
		}
		next, err := Next(r)
		if err != nil {
			t.Fatal(err)
		}
		if waits := next.Revisions["b"] != 3; tt.want && !waits {
			t.Errorf("%s: all clusters get it at once: %v", name, next.Revisions)
		}
	}
}

// TestConnecting checks that while a cluster is about to be observed, nothing begins, fails or ends.
func TestConnecting(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	started := metav1.NewTime(now.Add(-time.Hour))
	last := &v1.RolloutStatus{
		Revision: 2, SpecHash: "h2", PreviousRevision: 1, State: v1.RolloutProgressing, Total: 3,
		Updating: []v1.ClusterUpdate{{Name: "a", StartTime: &started}},
	}
	r := Request{Spec: v1.Rollout{}, Revision: 2, Hash: "h2", Last: last, Now: now, Clusters: []Cluster{
		{Name: "a", Region: "r1", Revision: 2, SetAside: true, Connecting: true},
		{Name: "b", Region: "r2", Revision: 1, Settled: true, Serving: true}, {Name: "new", Region: "r3"},
	}}
	for name, change := range map[string]func(*Request){
		"no deadline counts, and what was observed is not lost": func(*Request) {},
		"an edit waits":           func(r *Request) { r.Revision, r.Hash = 3, "h3" },
		"a request of a rollback": func(r *Request) { r.RollbackTo = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := r
			change(&next)
			got, err := Next(next)
			if err != nil {
				t.Fatal(err)
			}
			want := *last.DeepCopy()
			if diff := cmp.Diff(want, got.Status); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if got.Revisions["a"] != 2 || got.Revisions["b"] != 1 || got.Revisions["new"] != 1 {
				t.Errorf("revisions %v, want those that the clusters have, and the previous one for a new cluster", got.Revisions)
			}
		})
	}
}
