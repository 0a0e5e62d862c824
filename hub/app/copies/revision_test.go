package copies

import (
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// earlier returns the facts about a member that has revision 3, which is an earlier one.
func earlier(t *testing.T, spec *v1.EcommerceAppSpec) memberFacts {
	t.Helper()
	effective, err := revisions.Target{Member: &v1.MemberCluster{}, Revision: 3, Earlier: true}.Effective(spec)
	if err != nil {
		t.Fatal(err)
	}
	return memberFacts{cluster: "a", member: awsMember(), effective: effective}
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

// TestRefusedRevisionStaysRefused checks that an edit does not give a copy the content of the revision that it refuses,
// without the server of that, and that a copy which returns to a revision keeps its server.
func TestRefusedRevisionStaysRefused(t *testing.T) {
	t.Parallel()
	mysql := func(image, version string) *v1.EcommerceApp {
		return &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Image: image, Database: &v1.Database{Engine: v1.EngineMySQL, Version: version, AllowUpgradeTo: "9"}}}
	}
	app := mysql("shop:v4", "9.1.0")
	for name, tt := range map[string]struct {
		// given is the version in revision 3, which the cluster is to have.
		given string
		// has is the version of the copy, whose revision is of.
		has, of string
		// started is the server that the data is of; empty if that is the one of the copy.
		started string
		refused bool
	}{
		"of revision 1, it refuses revision 3": {given: "9.1.0", has: "8.0.36", of: "1", refused: true},
		"of revision 1, it may follow":         {given: "9.1.0", has: "8.4.2", of: "1"},
		"it has revision 3":                    {given: "8.0.36", has: "8.4.2", of: "3"},
		"it returns from revision 4":           {given: "8.0.36", has: "8.4.2", of: "4"},
		"it is of no revision":                 {given: "8.0.36", has: "8.4.2"},
		"a user has raised its server":         {given: "8.0.36", has: "8.4.2", of: "3", started: "8.0.36"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := mysql("shop:v1", tt.has)
			live.Annotations = map[string]string{v1.RevisionAnnotation: tt.of}
			if tt.started != "" {
				live.Status.StartedServer = &v1.DatabaseServer{Version: tt.started, Image: "mysql:" + tt.started}
			}
			copied, err := copyFor(app, earlier(t, &mysql("shop:v3", tt.given).Spec), live)
			if d := apierror.Decide(err); (err != nil) != tt.refused || tt.refused && d.Reason != v1.ReasonUpgradeRefused {
				t.Errorf("error %v, refused %t", err, tt.refused)
			}
			if got := copied.Spec; !tt.refused && (got.Image != "shop:v3" || got.Database.Version != tt.has) {
				t.Errorf("image %s with server %s, want shop:v3 with %s", got.Image, got.Database.Version, tt.has)
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
