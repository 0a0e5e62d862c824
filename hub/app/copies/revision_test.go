package copies

import (
	"context"
	"errors"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

var errNoRevision = errors.New("it was deleted")

// TestRevisionOfACopy: a copy has the revision that was decided, whatever the spec says by now.
func TestRevisionOfACopy(t *testing.T) {
	t.Parallel()
	earlier := &v1.EcommerceAppSpec{Image: "shop:v1"}
	decided := func(revision int64, change func(*v1.EcommerceApp)) *v1.EcommerceApp {
		app := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Image: "shop:v2", Rollout: &v1.Rollout{}}}
		_, hash, err := rollout.Template(&app.Spec)
		if err != nil {
			t.Fatal(err)
		}
		app.Status.Rollout = &v1.RolloutStatus{Revision: 2, PreviousRevision: 1, SpecHash: hash, State: v1.RolloutProgressing}
		app.Status.Clusters = []v1.ClusterStatus{{Name: "a", Revision: revision}}
		if change != nil {
			change(app)
		}
		return app
	}
	for name, tt := range map[string]struct {
		app      *v1.EcommerceApp
		missing  bool
		revision int64
		image    string
	}{
		"the one of the spec":           {app: decided(2, nil), revision: 2, image: "shop:v2"},
		"an earlier one":                {app: decided(1, nil), revision: 1, image: "shop:v1"},
		"an edit that is not decided":   {app: decided(2, func(a *v1.EcommerceApp) { a.Spec.Image = "shop:v3" }), revision: 2, image: "shop:v1"},
		"replicas are no revision":      {app: decided(2, func(a *v1.EcommerceApp) { a.Spec.Replicas = new(int32(5)) }), revision: 2, image: "shop:v2"},
		"a cluster that is yet unknown": {app: decided(0, func(a *v1.EcommerceApp) { a.Status.Rollout.State = v1.RolloutRolledBack }), revision: 1, image: "shop:v1"},
		"nothing is decided":            {app: decided(0, func(a *v1.EcommerceApp) { a.Status.Rollout = nil }), image: "shop:v2"},
		"no rollout any more":           {app: decided(1, func(a *v1.EcommerceApp) { a.Spec.Rollout = nil }), image: "shop:v2"},
		"one that does not exist":       {app: decided(1, nil), missing: true, revision: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stored := earlier
			if tt.missing {
				stored = nil
			}
			l := &MemberQueue{name: "a", options: Options{Revision: revisionOf(stored)}, memory: newMemory("a")}
			facts := &MemberFacts{cluster: "a"}
			if err := l.addRevision(t.Context(), l.stored(tt.app), facts); err != nil {
				t.Fatal(err)
			}
			copied, err := copyOf(tt.app, *facts, nil)
			if errors.Is(err, errNoRevision) != tt.missing || err != nil && !tt.missing {
				t.Fatalf("error %v, want one %t", err, tt.missing)
			}
			if got := v1.RevisionOf(copied.Annotations); got != tt.revision || copied.Spec.Image != tt.image {
				t.Errorf("revision %d with %q, want %d with %q", got, copied.Spec.Image, tt.revision, tt.image)
			}
		})
	}
}

// revisionOf returns the only revision that is stored, or an error if that is nil.
func revisionOf(stored *v1.EcommerceAppSpec) func(context.Context, *v1.EcommerceApp, int64) (*v1.EcommerceAppSpec, error) {
	return func(context.Context, *v1.EcommerceApp, int64) (*v1.EcommerceAppSpec, error) {
		if stored == nil {
			return nil, &apierror.SpecError{Reason: v1.ReasonRevisionNotFound, Err: errNoRevision}
		}
		return stored, nil
	}
}

// TestDatabaseStays: the database of an earlier revision keeps the version and the size that it has.
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
			copied, err := copyOf(app, MemberFacts{cluster: "a", member: awsMember(), held: tt.held}, tt.live)
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

// TestReplicasStay: a copy with an earlier revision keeps its pods when the spec has autoscaling by now.
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
			copied, err := copyOf(app, MemberFacts{cluster: "a", member: awsMember(), held: held}, tt.live)
			if err != nil {
				t.Fatal(err)
			}
			if got := copied.Spec; *got.Replicas != tt.frontend || *got.Backend.Replicas != tt.backend {
				t.Errorf("%d and %d replicas, want %d and %d", *got.Replicas, *got.Backend.Replicas, tt.frontend, tt.backend)
			}
		})
	}
}

// TestMayReturn: what an earlier revision may refer to stays until no cluster can have that any more.
func TestMayReturn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1.EcommerceApp)
		want   bool
	}{
		"complete":                    {func(*v1.EcommerceApp) {}, false},
		"in progress":                 {func(a *v1.EcommerceApp) { a.Status.Rollout.State = v1.RolloutProgressing }, true},
		"rolled back":                 {func(a *v1.EcommerceApp) { a.Status.Rollout.State = v1.RolloutRolledBack }, true},
		"an edit that is not decided": {func(a *v1.EcommerceApp) { a.Spec.Image = "shop:v2" }, true},
		"nothing is decided":          {func(a *v1.EcommerceApp) { a.Status.Rollout = nil }, false},
		"no rollout":                  {func(a *v1.EcommerceApp) { a.Spec.Rollout = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Image: "shop:v1", Rollout: &v1.Rollout{}}}
			_, hash, err := rollout.Template(&app.Spec)
			if err != nil {
				t.Fatal(err)
			}
			app.Status.Rollout = &v1.RolloutStatus{Revision: 1, SpecHash: hash, State: v1.RolloutComplete}
			tt.change(app)
			if got := mayReturn(app); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}
