package render

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

// TestProperties renders 10,000 random shops, and checks of each what is true of
// all.
func TestProperties(t *testing.T) {
	t.Parallel()
	const groups, shops = 10, 1000
	for group := range uint64(groups) {
		t.Run(fmt.Sprint(group), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(group, 0))
			for range shops {
				app, cluster := randomShop(random)
				checkShop(t, app, cluster)
				if t.Failed() {
					t.Fatalf("the shop was %+v in %+v", app.Spec, cluster)
				}
			}
		})
	}
}

func checkShop(t *testing.T, app *v1.EcommerceApp, cluster Cluster) {
	t.Helper()
	given := app.DeepCopy()
	first, err := EcommerceApp(app, cluster)
	if err != nil {
		t.Fatal(err)
	}
	second, err := EcommerceApp(app.DeepCopy(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first, second) {
		t.Error("the same shop was rendered twice, and differently")
	}
	if !equality.Semantic.DeepEqual(given, app) {
		t.Error("the shop was changed")
	}
	var names []string
	seen := map[component.Key]bool{}
	for _, c := range first {
		names = append(names, c.Name)
		if c.Disabled && len(c.Objects) > 0 {
			t.Errorf("%s is disabled, but has objects", c.Name)
		}
		for _, o := range c.Objects {
			key := component.KeyOf(o.Resource)
			if seen[key] {
				t.Errorf("%v is rendered twice", key)
			}
			seen[key] = true
			checkObject(t, o, app, cluster)
		}
	}
	if got := strings.Join(names, " "); got != "database backend frontend ingress monitoring" {
		t.Errorf("the components are %s", got)
	}
}

func checkObject(t *testing.T, o component.Object, app *v1.EcommerceApp, cluster Cluster) {
	t.Helper()
	r := o.Resource
	gvk := r.GetObjectKind().GroupVersionKind()
	at := gvk.Kind + " " + r.GetName()
	if gvk.Kind == "" || gvk.Version == "" {
		t.Errorf("%s has no kind", at)
	}
	if r.GetNamespace() != app.Namespace {
		t.Errorf("%s is in namespace %q", at, r.GetNamespace())
	}
	if problems := validation.IsDNS1035Label(r.GetName()); len(problems) > 0 {
		t.Errorf("%s: %v", at, problems)
	}
	labels := r.GetLabels()
	for _, key := range []string{v1.NameLabel, v1.InstanceLabel, v1.ComponentLabel} {
		if labels[key] == "" {
			t.Errorf("%s has no label %s", at, key)
		}
	}
	for key, want := range map[string]string{
		v1.PartOfLabel: "ecommerceapp", v1.ManagedByLabel: "shopfleet", v1.OwnerUIDLabel: string(app.UID), v1.ClusterLabel: cluster.Name,
	} {
		if labels[key] != want {
			t.Errorf("%s: label %s is %q, want %q", at, key, labels[key], want)
		}
	}
	for key, value := range labels {
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			t.Errorf("%s: label %s: %v", at, key, problems)
		}
	}
	if len(r.GetOwnerReferences()) > 0 || r.GetAnnotations()[v1.SpecHashAnnotation] != "" {
		t.Errorf("%s has what the writer adds", at)
	}
	for _, pod := range podTemplates(r) {
		checkPod(t, at, pod)
	}
	checkSelector(t, at, r)
}

func checkPod(t *testing.T, at string, pod corev1.PodTemplateSpec) {
	t.Helper()
	if violations := restricted(pod.Spec); len(violations) > 0 {
		t.Errorf("%s is not restricted: %v", at, violations)
	}
	if isTrue(pod.Spec.AutomountServiceAccountToken) || pod.Spec.AutomountServiceAccountToken == nil {
		t.Errorf("%s is given a token", at)
	}
	volumes := map[string]bool{"data": true}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		names := map[string]bool{}
		for _, e := range c.Env {
			if names[e.Name] {
				t.Errorf("%s: %s is given twice", at, e.Name)
			}
			names[e.Name] = true
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s: there is no volume %s", at, m.Name)
			}
		}
	}
}

// checkSelector checks that a workload selects its own pods, by labels that
// never change.
func checkSelector(t *testing.T, at string, r component.Resource) {
	t.Helper()
	var selector map[string]string
	switch o := r.(type) {
	case *appsv1.Deployment:
		selector = o.Spec.Selector.MatchLabels
	case *appsv1.StatefulSet:
		selector = o.Spec.Selector.MatchLabels
		if revision := o.Name + "-5d6f7c8b9d"; len(revision) > objectparts.MaxName {
			t.Errorf("%s: the label with its revision has %d characters", at, len(revision))
		}
	default:
		return
	}
	if len(selector) != 3 {
		t.Errorf("%s selects by %v", at, selector)
	}
	for key, value := range selector {
		if podTemplates(r)[0].Labels[key] != value {
			t.Errorf("%s does not select its pods by %s", at, key)
		}
	}
}

// randomShop draws a shop that the schema accepts, and a cluster.
func randomShop(r *rand.Rand) (*v1.EcommerceApp, Cluster) {
	app := apitest.RandomApp(r)
	if app.Spec.Ingress.ClassName != nil && r.IntN(2) == 0 {
		app.Spec.Ingress.GatewayRef = &v1.GatewayReference{Name: "public", Namespace: "gateways"}
	}
	app.Namespace, app.UID = "production", types.UID(fmt.Sprintf("%08x-0000-0000-0000-000000000000", r.Uint32()))
	return app, randomCluster(r)
}

func randomCluster(r *rand.Rand) Cluster {
	chance := func() bool { return r.IntN(2) == 0 }
	cluster := Cluster{ServiceMonitors: chance(), PrometheusRules: chance(), Certificates: chance(), HTTPRoutes: chance()}
	if chance() {
		cluster.Name = "eu-1"
	}
	return cluster
}
