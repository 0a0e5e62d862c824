package copies

import (
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
)

// earlier returns the facts about a member that has an earlier revision.
func earlier(t *testing.T, spec *v1.EcommerceAppSpec) MemberFacts {
	t.Helper()
	effective, err := revisions.Target{Member: &v1.MemberCluster{}, Revision: 1, Earlier: true}.Effective(spec)
	if err != nil {
		t.Fatal(err)
	}
	return MemberFacts{cluster: "a", member: awsMember(), effective: effective}
}

// TestDatabaseStays checks that the database of an earlier revision keeps the version and the size that it has.
func TestDatabaseStays(t *testing.T) {
	t.Parallel()
	database := func(version, storage string) *v1.Database {
		return &v1.Database{Engine: v1.EnginePostgreSQL, Version: version, Storage: storage}
	}
	app := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Image: "shop:v2", Database: database("17.3", "2Gi")}}
	held := &v1.EcommerceAppSpec{Image: "shop:v1", Database: database("17.2", "1Gi")}
	live := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Database: database("17.3", "2Gi")}}
	for name, tt := range map[string]struct {
		held *v1.EcommerceAppSpec
		live *v1.EcommerceApp
		want *v1.Database
	}{
		"a database that was upgraded":    {held, live, live.Spec.Database},
		"one that waits for its turn":     {held, &v1.EcommerceApp{Spec: *held}, held.Database},
		"a copy that is missing":          {held, nil, held.Database},
		"a revision from before it":       {&v1.EcommerceAppSpec{Image: "shop:v0"}, live, live.Spec.Database},
		"a revision and a copy before it": {&v1.EcommerceAppSpec{Image: "shop:v0"}, &v1.EcommerceApp{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copied, err := copyFor(app, earlier(t, tt.held), tt.live)
			if err != nil {
				t.Fatal(err)
			}
			got := copied.Spec.Database
			if (got == nil) != (tt.want == nil) || got != nil && (got.Version != tt.want.Version || got.Storage != tt.want.Storage) {
				t.Errorf("database %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestReplicasStay checks that a copy with an earlier revision keeps its pods when the spec has autoscaling by now.
func TestReplicasStay(t *testing.T) {
	t.Parallel()
	scaled := &v1.Autoscaling{MinReplicas: 5, MaxReplicas: 9}
	app := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Image: "shop:v2", Frontend: v1.Workload{Autoscaling: scaled}, Backend: v1.Workload{Image: "b", Autoscaling: scaled}}}
	held := &v1.EcommerceAppSpec{Image: "shop:v1", Replicas: new(int32(2)), Backend: v1.Workload{Image: "b", Replicas: new(int32(2))}}
	live := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Replicas: new(int32(10)), Backend: v1.Workload{Image: "b", Replicas: new(int32(4))}}}
	for name, tt := range map[string]struct {
		live              *v1.EcommerceApp
		frontend, backend int32
	}{
		"a copy that was scaled": {live, 10, 4},
		"a copy that is missing": {nil, 2, 2},
		"one with autoscaling":   {&v1.EcommerceApp{Spec: app.Spec}, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copied, err := copyFor(app, earlier(t, held), tt.live)
			if err != nil {
				t.Fatal(err)
			}
			if got := copied.Spec; *got.Replicas != tt.frontend || *got.Backend.Replicas != tt.backend {
				t.Errorf("%d and %d replicas, want %d and %d", *got.Replicas, *got.Backend.Replicas, tt.frontend, tt.backend)
			}
		})
	}
}
