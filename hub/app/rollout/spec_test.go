package rollout

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestServerUntilComplete checks that a later major version of MySQL than that of the revision that is rolled out
// waits.
func TestServerUntilComplete(t *testing.T) {
	t.Parallel()
	mysql := func(version string) *v1.Database { return &v1.Database{Engine: v1.EngineMySQL, Version: version} }
	postgres := func(version string) *v1.Database { return &v1.Database{Engine: v1.EnginePostgreSQL, Version: version} }
	before := mysql("8.4.2").Server()
	for name, tt := range map[string]struct {
		spec, released *v1.Database
		state          v1.RolloutState
		last           *v1.DatabaseServer
		want           *v1.DatabaseServer
	}{
		"the next major version":             {spec: mysql("9.1.0"), released: mysql("8.4.2"), want: &before},
		"goes on":                            {spec: mysql("9.1.0"), last: &before, want: &before},
		"after a rollback":                   {spec: mysql("9.1.0"), released: mysql("8.4.2"), state: v1.RolloutRolledBack, want: &before},
		"the rollout is complete":            {spec: mysql("9.1.0"), released: mysql("8.4.2"), state: v1.RolloutComplete},
		"the rollout of the wait ended":      {spec: mysql("9.1.0"), last: &before, state: v1.RolloutComplete},
		"the same major version":             {spec: mysql("8.4.3"), released: mysql("8.4.2")},
		"is taken back":                      {spec: mysql("8.4.2"), last: &before},
		"by image":                           {spec: &v1.Database{Engine: v1.EngineMySQL, Version: "9", Image: "mirror/mysql:9.1.0"}, released: mysql("8.4.2"), want: &before},
		"PostgreSQL, which the schema keeps": {spec: postgres("18.0"), released: postgres("17.2")},
		"a first database":                   {spec: mysql("9.1.0")},
		"no database":                        {released: mysql("8.4.2")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.state == "" {
				tt.state = v1.RolloutProgressing
			}
			app := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Database: tt.spec, Rollout: &v1.Rollout{}}}
			app.Status.Rollout = &v1.RolloutStatus{State: tt.state, DatabaseServer: tt.last}
			if diff := cmp.Diff(tt.want, ServerUntilComplete(app, tt.released)); diff != "" {
				t.Errorf("server (-want +got):\n%s", diff)
			}
		})
	}
	if server := ServerUntilComplete(&v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Database: mysql("9.1.0")}}, mysql("8.4.2")); server != nil {
		t.Errorf("%v without a rollout", server)
	}
}

// TestRevisionSpec checks that a revision has the server that waits, and the rest of the spec.
func TestRevisionSpec(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{
		Image: "shop:v2", Rollout: &v1.Rollout{}, Database: &v1.Database{Engine: v1.EngineMySQL, Version: "9.1.0", AllowUpgradeTo: "9", Storage: "1Gi"},
	}}
	if RevisionSpec(app) != &app.Spec {
		t.Error("another spec without a rollout")
	}
	app.Status.Rollout = &v1.RolloutStatus{DatabaseServer: &v1.DatabaseServer{Version: "8.4.2", Image: "mysql:8.4.2"}}
	want := app.Spec.DeepCopy()
	want.Database.Version = "8.4.2"
	if diff := cmp.Diff(want, RevisionSpec(app)); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if app.Spec.Database.Version != "9.1.0" {
		t.Error("the spec of the application was changed")
	}
	app.Spec.Rollout = nil
	if RevisionSpec(app) != &app.Spec {
		t.Error("another spec after spec.rollout was removed")
	}
}

func TestWithWaitingServer(t *testing.T) {
	t.Parallel()
	db := &v1.Database{Engine: v1.EngineMySQL, Version: "9.1.0"}
	const waits = "MySQL 9.1.0 waits until the rollout is complete"
	for message, want := range map[string]string{
		"": waits, "waiting for eu-1": "waiting for eu-1; " + waits, waits: waits, "waiting for eu-1; " + waits: "waiting for eu-1; " + waits,
		strings.Repeat("a", 1000): strings.Repeat("a", 1000),
	} {
		if got := WithWaitingServer(message, db); got != want {
			t.Errorf("%q becomes %q, want %q", message, got, want)
		}
	}
}
