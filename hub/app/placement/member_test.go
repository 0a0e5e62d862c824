package placement

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestClusterOf checks that a member is detached once it is being deleted or its Secret is gone, and not while it is
// only unreachable.
func TestClusterOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	condition := func(status metav1.ConditionStatus, reason string) func(*v1.MemberCluster) {
		return func(m *v1.MemberCluster) {
			m.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: status, Reason: reason}}
		}
	}
	for name, test := range map[string]struct {
		change          func(*v1.MemberCluster)
		ready, detached bool
	}{
		"new":         {func(*v1.MemberCluster) {}, false, false},
		"ready":       {condition(metav1.ConditionTrue, v1.ReasonConnected), true, false},
		"unreachable": {condition(metav1.ConditionFalse, v1.ReasonProbeFailed), false, false},
		"no Secret":   {condition(metav1.ConditionFalse, v1.ReasonSecretNotFound), false, true},
		"deleted":     {func(m *v1.MemberCluster) { m.DeletionTimestamp = &metav1.Time{Time: now} }, false, true},
	} {
		m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}
		test.change(m)
		if got := ClusterOf(m, now); got.Name != "eu" || got.Ready != test.ready || got.Detached != test.detached || !got.Unobserved {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestRequestOf checks that a cluster with data counts, and one whose copy is being deleted does not.
func TestRequestOf(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{}
	app.Status.Clusters = []v1.ClusterStatus{{Name: "eu", Phase: v1.PhaseRunning, Available: true}, {Name: "us", Phase: v1.PhaseDeleting}}
	if got := RequestOf(app, nil, time.Time{}); got.HasDatabase || len(got.Current) != 1 || got.Current[0].Name != "eu" || !got.Current[0].Serving || len(got.MoveEmpty) > 0 {
		t.Errorf("%+v", got)
	}
	app.Annotations = map[string]string{v1.MoveEmptyAnnotation: "eu, ,us,"}
	if got := RequestOf(app, nil, time.Time{}).MoveEmpty; !slices.Equal(got, []string{"eu", "us"}) {
		t.Errorf("to move empty: %q", got)
	}
	app.Spec.Database = &v1.Database{}
	if got := RequestOf(app, nil, time.Time{}); !got.HasDatabase {
		t.Error("an application with a database has no data")
	}
}

// TestCurrentOf checks that a backend that is ready has its share.
func TestCurrentOf(t *testing.T) {
	t.Parallel()
	frontend, backend, starting := v1.ClusterComponentStatus{Name: "frontend", Ready: true}, v1.ClusterComponentStatus{Name: "backend", Ready: true}, v1.ClusterComponentStatus{Name: "backend"}
	share := &v1.ReplicaShare{Frontend: new(int32(2)), Backend: new(int32(3))}
	for name, test := range map[string]struct {
		entry v1.ClusterStatus
		want  Current
	}{
		"idle":                {v1.ClusterStatus{}, Current{Idle: true}},
		"not observed":        {v1.ClusterStatus{Stale: true}, Current{}},
		"serving, stale":      {v1.ClusterStatus{Available: true, Stale: true, ReadyReplicas: 2}, Current{Serving: true, Frontend: 2}},
		"without a share":     {v1.ClusterStatus{Available: true, Components: []v1.ClusterComponentStatus{backend}}, Current{Serving: true}},
		"none of the backend": {v1.ClusterStatus{Available: true, Share: &v1.ReplicaShare{}, Components: []v1.ClusterComponentStatus{backend}}, Current{Serving: true}},
		"the frontend":        {v1.ClusterStatus{Available: true, Share: share, Components: []v1.ClusterComponentStatus{frontend}}, Current{Serving: true}},
		"it starts":           {v1.ClusterStatus{Available: true, Share: share, Components: []v1.ClusterComponentStatus{starting}}, Current{Serving: true}},
		"the backend":         {v1.ClusterStatus{Available: true, Share: share, Components: []v1.ClusterComponentStatus{frontend, backend}}, Current{Serving: true, Backend: 3}},
	} {
		if diff := cmp.Diff(test.want, CurrentOf(&test.entry)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestTaintsOf checks that the status says when a taint with NoExecute was added, by its key and value.
func TestTaintsOf(t *testing.T) {
	t.Parallel()
	now, before := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	m := &v1.MemberCluster{}
	m.Spec.Taints = []v1.Taint{
		{Key: "k", Value: "new", Effect: v1.TaintNoExecute}, {Key: "k", Value: "known", Effect: v1.TaintNoExecute},
		{Key: "other", Value: "known", Effect: v1.TaintNoExecute}, {Key: "k", Value: "known", Effect: v1.TaintNoSchedule},
	}
	m.Status.Taints = []v1.TaintStatus{{Key: "k", Value: "known", AddedTime: metav1.Time{Time: before}}}
	for i, want := range []time.Time{now, before, now, {}} {
		if got := ClusterOf(m, now).Taints[i]; !got.AddedTime.Equal(want) {
			t.Errorf("%v: added at %s, want %s", got.Taint, got.AddedTime, want)
		}
	}
}

// TestReplacesShare checks that only an override of replicas, or one with patches, may replace the share of a cluster
// that it selects.
func TestReplacesShare(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		override v1.Override
		want     bool
	}{
		"image":              {v1.Override{Image: "shop:v2"}, false},
		"replicas":           {v1.Override{Replicas: new(int32(2))}, true},
		"the frontend's":     {v1.Override{Frontend: v1.WorkloadOverride{Replicas: new(int32(2))}}, true},
		"the backend's":      {v1.Override{Backend: v1.WorkloadOverride{Replicas: new(int32(2))}}, true},
		"patches":            {v1.Override{JSONPatches: []v1.JSONPatch{{Op: "test"}}}, true},
		"of another cluster": {v1.Override{Replicas: new(int32(2)), Selector: v1.ClusterCriteria{ClusterNames: []string{"us"}}}, false},
	} {
		spec := &v1.EcommerceAppSpec{Overrides: []v1.Override{test.override}}
		if got := replacesShare(spec, &Cluster{Name: "eu"}); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestToleratedUntil checks that the first taint that ends the toleration counts, whatever stands before it.
func TestToleratedUntil(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	taint := func(key string, effect v1.TaintEffect) Taint {
		return Taint{Taint: v1.Taint{Key: key, Effect: effect}, AddedTime: now}
	}
	c := criteria{now: now, Placement: &v1.Placement{Tolerations: []v1.Toleration{
		{Key: "late", Operator: v1.TolerationExists, Effect: v1.ToleratesNoExecute, TolerationSeconds: new(int64(60))},
		{Key: "early", Operator: v1.TolerationExists, Effect: v1.ToleratesNoExecute, TolerationSeconds: new(int64(30))},
	}}}
	cluster := &Cluster{Taints: []Taint{taint("new", v1.TaintNoSchedule), taint("late", v1.TaintNoExecute), taint("early", v1.TaintNoExecute)}}
	if got, want := c.toleratedUntil(cluster), now.Add(30*time.Second); !got.Equal(want) {
		t.Errorf("until %s, want %s", got, want)
	}
	if other := (&Cluster{Taints: []Taint{cluster.Taints[0], taint("other", v1.TaintNoExecute)}}); !c.repels(other, true) {
		t.Error("a taint that repels nothing that runs hides the next one")
	}
	if got := c.toleratedUntil(&Cluster{Taints: cluster.Taints[:1]}); !got.IsZero() {
		t.Errorf("a taint that repels nothing that runs ends the toleration at %s", got)
	}
}
