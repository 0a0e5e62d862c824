package render

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestClusterSettings checks that backend and frontend get what the spoke knows of their cluster, and that another value
// replaces no pods.
func TestClusterSettings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cluster Cluster
		want    map[string]string
	}{
		"a member":      {Cluster{Name: "eu-1", Region: "eu-west-1", Provider: v1.ProviderAWS}, map[string]string{"CLUSTER": "eu-1", "REGION": "eu-west-1", "PROVIDER": "aws"}},
		"no region":     {Cluster{Name: "test", Provider: v1.ProviderOther}, map[string]string{"CLUSTER": "test", "PROVIDER": "other"}},
		"without a hub": {Cluster{}, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := apitest.App("shop").Obj()
			app.Spec.Backend = v1.Workload{Image: "api:v1"}
			s, err := newShop(app, tt.cluster)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range []workload{*s.backend, s.frontend} {
				if diff := cmp.Diff(tt.want, dataOf(w)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", w.name, diff)
				}
				without := w
				without.cluster = nil
				if diff := cmp.Diff(without.deployment(), w.deployment()); diff != "" {
					t.Errorf("%s is started again (-without +with):\n%s", w.name, diff)
				}
			}
		})
	}
}

// dataOf returns the variables in a workload's ConfigMap that do not depend on its spec.
func dataOf(w workload) map[string]string {
	data := w.config().Data
	maps.DeleteFunc(data, func(key, _ string) bool { return key == "PORT" || key == "BACKEND_URL" })
	return data
}

// TestImageRegistry checks that every image is from the registry, those of defaults too.
func TestImageRegistry(t *testing.T) {
	t.Parallel()
	for _, engine := range []v1.Engine{v1.EnginePostgreSQL, v1.EngineMySQL} {
		app := apitest.App("shop").Database(engine, "17.2", "1Gi").Obj()
		app.Spec.ImageRegistry, app.Spec.Backend.Image = "mirror.example.com", "registry.example.com/api:v1"
		app.Spec.Security.Authentication.Enabled = true
		app.Spec.Database.Backup = v1.BackupPolicy{Enabled: true, Schedule: "0 2 * * *"}
		images := map[string]bool{}
		for _, o := range mustShop(t, app) {
			for _, p := range podTemplates(o.Resource) {
				for _, c := range append(p.Spec.InitContainers, p.Spec.Containers...) {
					images[c.Image] = true
					if !strings.HasPrefix(c.Image, "mirror.example.com/") {
						t.Errorf("%s of %s is not from the registry", c.Image, o.Resource.GetName())
					}
				}
			}
		}
		if len(images) != 4 {
			t.Errorf("images %v, want those of database, backend, frontend and login", images)
		}
	}
}
