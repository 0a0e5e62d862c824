package kind

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/kind/images"
)

// testInstall installs the hub: two pods run, and one of them leads.
func (e *environment) testInstall(t *testing.T) {
	t.Helper()
	e.reset(t)
	e.follow(t, "Install")
	leader, _ := e.leader(t, "")
	pods := &corev1.PodList{}
	if err := e.hub.List(t.Context(), pods, client.InNamespace(config.Namespace)); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 2 {
		t.Errorf("%d pods of the hub, want 2", len(pods.Items))
	}
	t.Logf("%s leads", leader)
}

// testJoin makes both clusters members, one in each mode.
func (e *environment) testJoin(t *testing.T) {
	t.Helper()
	e.follow(t, "Join")
	for _, r := range e.regions {
		member := &v1.MemberCluster{}
		if err := e.hub.Get(t.Context(), client.ObjectKey{Name: r.name}, member); err != nil {
			t.Fatal(err)
		}
		if !meta.IsStatusConditionTrue(member.Status.Conditions, v1.ConditionReady) {
			t.Errorf("%s is not ready: %+v", r.name, member.Status.Conditions)
		}
		if member.Status.Region != r.Region {
			t.Errorf("%s is in region %q, want %q", r.name, member.Status.Region, r.Region)
		}
	}
}

// testApply applies the shops, and lets customers reach them.
func (e *environment) testApply(t *testing.T) {
	t.Helper()
	e.applyShops(t)
	for _, r := range e.regions {
		r.admitCustomers(t)
	}
}

// applyShops applies the sample application and one on MySQL, with small requests, and waits until
// they run.
func (e *environment) applyShops(t *testing.T) {
	t.Helper()
	e.hub.must(t, "create", "namespace", namespace)
	for _, r := range e.regions {
		// Nothing that we make needs more than the strictest standard for pods allows.
		r.must(t, "create", "namespace", namespace)
		r.must(t, "label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
	}
	raw, err := os.ReadFile("../../config/samples/ecommerceapp.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seed := &v1.EcommerceApp{}
	if err := yaml.UnmarshalStrict(raw, seed); err != nil {
		t.Fatal(err)
	}
	modest(seed)
	e.applyApp(t, seed)
	onMySQL := &v1.EcommerceApp{TypeMeta: seed.TypeMeta, ObjectMeta: objectMeta(ledger)}
	onMySQL.Spec.Database = &v1.Database{Engine: v1.EngineMySQL, Version: "8.4.2", Storage: "1Gi"}
	onMySQL.Spec.Image = images.FrontendOld
	onMySQL.Spec.Frontend.Replicas = new(int32(1))
	onMySQL.Spec.Monitoring = seed.Spec.Monitoring
	onMySQL.Spec.Backend = v1.Workload{Image: images.BackendOld, Replicas: new(int32(1))}
	modest(onMySQL)
	e.applyApp(t, onMySQL)
	e.running(t, shop, ledger)
}

// modest sets small requests.
func modest(app *v1.EcommerceApp) {
	for _, workload := range []*v1.Workload{&app.Spec.Frontend, &app.Spec.Backend} {
		workload.Resources = v1.Resources{Requests: v1.Amounts{
			v1.ResourceCPU: resource.MustParse("10m"), v1.ResourceMemory: resource.MustParse("32Mi"),
		}}
	}
}

func (e *environment) applyApp(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	raw, err := yaml.Marshal(app)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), app.Name+".yaml")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	e.hub.must(t, "apply", "--filename", file)
}

// admitCustomers lets pods of the namespace reach the frontends, whose NetworkPolicy only
// admits the login otherwise.
func (r *region) admitCustomers(t *testing.T) {
	t.Helper()
	policy := &networkingv1.NetworkPolicy{ObjectMeta: objectMeta("customers")}
	policy.Spec.PodSelector.MatchLabels = map[string]string{v1.ComponentLabel: "frontend"}
	policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{}}
	if err := r.Create(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
}

var (
	errNoLeader = errors.New("no process leads")
	errChildren = errors.New("children differ")
)

// child is an object that a copy owns.
type child struct {
	kind, name string
	// component holds the value of its component label.
	component string
}

func (c child) String() string { return c.kind + "/" + c.name }
