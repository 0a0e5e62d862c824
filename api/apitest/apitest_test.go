package apitest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestSeeds decodes each sample strictly, which panics on a field without a type.
func TestSeeds(t *testing.T) {
	if app := apitest.Seed(); app.Name != "my-ecommerce-app" || app.Spec.Database.Engine != v1.EnginePostgreSQL {
		t.Errorf("the shop is %+v", app)
	}
	if app := apitest.SeedWebApp(); app.Name != "nginx-app" {
		t.Errorf("the web application is %+v", app)
	}
	if cluster := apitest.SeedMySQLCluster(); cluster.Name != "my-mysql" {
		t.Errorf("the database is %+v", cluster)
	}
}

// TestBuildersMakeCopies uses one builder as the base of two objects.
func TestBuildersMakeCopies(t *testing.T) {
	base := apitest.App("shop").Database(v1.EnginePostgreSQL, "13.4", "10Gi").Label("a", "b")
	first := base.Obj()
	want := first.DeepCopy()
	base.DatabaseReplicas(3).Label("a", "c").Backup("0 2 * * *")
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("what was built before changed (-before +after):\n%s", diff)
	}
	if second := base.Obj(); *second.Spec.Database.Replicas != 3 || second.Labels["a"] != "c" {
		t.Errorf("the second object is %+v", second)
	}
}

// TestConditionsReplace makes a cluster ready that was not.
func TestConditionsReplace(t *testing.T) {
	member := apitest.MemberCluster("eu-1").NotReady(v1.ReasonProbeFailed).Ready().Obj()
	if got := len(member.Status.Conditions); got != 1 || member.Status.Conditions[0].Reason != v1.ReasonConnected {
		t.Errorf("conditions = %+v", member.Status.Conditions)
	}
}
