package render

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestUpgradeFromVersion1 renders edits of a shop whose workloads are as version 1 of the pod templates rendered and noted
// them: an upgrade, a scale, another share and a larger volume replace no pod, another image those of its component alone.
func TestUpgradeFromVersion1(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("testdata", "podtemplates", "shop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"database", "backend", "frontend", "ingress"}
	for edit, tt := range map[string]struct {
		change func(*v1.EcommerceAppSpec)
		held   []string
	}{
		"the upgrade alone":    {func(*v1.EcommerceAppSpec) {}, all},
		"a scale":              {func(s *v1.EcommerceAppSpec) { s.Frontend.Replicas = new(int32(9)) }, all},
		"a share of replicas":  {func(s *v1.EcommerceAppSpec) { s.Frontend.Replicas, s.Backend.Replicas = new(int32(1)), new(int32(1)) }, all},
		"a replica":            {func(s *v1.EcommerceAppSpec) { s.Database.Replicas = new(int32(2)) }, all},
		"a larger volume":      {func(s *v1.EcommerceAppSpec) { s.Database.Storage = "200Gi" }, all},
		"the frontend's image": {func(s *v1.EcommerceAppSpec) { s.Frontend.Image = "ecommerce-frontend:v3" }, []string{"database", "backend", "ingress"}},
		"the backend's image":  {func(s *v1.EcommerceAppSpec) { s.Backend.Image = "ecommerce-backend:v3" }, []string{"database", "frontend", "ingress"}},
		"monitoring":           {func(s *v1.EcommerceAppSpec) { s.Monitoring.Grafana = false }, all},
	} {
		t.Run(edit, func(t *testing.T) {
			t.Parallel()
			app := &v1.EcommerceApp{}
			if err := yaml.UnmarshalStrict(raw, app); err != nil {
				t.Fatal(err)
			}
			tt.change(&app.Spec)
			components, err := EcommerceApp(app, Cluster{})
			if err != nil {
				t.Fatal(err)
			}
			live := version1(t, app)
			got, held := component.Hold(components, live, component.Rendering{Version: Version, OwnerUID: app.UID})
			if diff := cmp.Diff(tt.held, held); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			checkKept(t, got, live)
		})
	}
}

// checkKept compares the pod templates that are held with the live ones, which are not those that are rendered.
func checkKept(t *testing.T, components []component.Component, live component.Live) {
	t.Helper()
	for _, c := range components {
		for _, o := range c.Objects {
			if !o.KeepsTemplate() {
				continue
			}
			was := podTemplates(live[component.KeyOf(o.Resource)])
			if diff := cmp.Diff(was, podTemplates(o.Resource)); diff != "" {
				t.Errorf("pods of the %s (-live +held):\n%s", c.Name, diff)
			}
			if c.Name != "ingress" && equality.Semantic.DeepEqual(was, podTemplates(o.Instead)) {
				t.Errorf("version %s renders the pods of the %s as version 1 did", Version, c.Name)
			}
		}
	}
}

// version1 returns the workloads of the shop as version 1 rendered them, with an owner.
func version1(t *testing.T, owner *v1.EcommerceApp) component.Live {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "podtemplates", "version1.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	live := component.Live{}
	for _, text := range slices.DeleteFunc(strings.Split(string(raw), "---\n"), func(text string) bool { return text == "" }) {
		var o component.Resource = &appsv1.Deployment{}
		if strings.Contains(text, "\nkind: StatefulSet\n") {
			o = &appsv1.StatefulSet{}
		}
		if err := yaml.UnmarshalStrict([]byte(text), o); err != nil {
			t.Fatal(err)
		}
		o.SetOwnerReferences([]metav1.OwnerReference{{UID: owner.UID, Controller: new(true)}})
		live[component.KeyOf(o)] = o
	}
	return live
}
