package render

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	webappv1 "github.com/shopfleet/shopfleet/api/webapp/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// TestNamesOfTheSample checks the names that users and other tools rely on.
func TestNamesOfTheSample(t *testing.T) {
	objects := mustShop(t, sampleShop(t))
	for _, want := range []string{
		"StatefulSet my-ecommerce-app-database", "Service my-ecommerce-app-database", "Service my-ecommerce-app-database-primary",
		"Secret my-ecommerce-app-database-credentials", "CronJob my-ecommerce-app-database-backup",
		"Deployment my-ecommerce-app-backend", "Service my-ecommerce-app-backend",
		"Deployment my-ecommerce-app-frontend", "Service my-ecommerce-app-frontend", "Ingress my-ecommerce-app-ingress",
	} {
		if !slices.ContainsFunc(objects, func(o component.Object) bool {
			return o.Resource.GetObjectKind().GroupVersionKind().Kind+" "+o.Resource.GetName() == want
		}) {
			t.Errorf("there is no %s", want)
		}
	}
}

// TestOrder checks the order Deployment, Service, Ingress, and that there is one Ingress only.
func TestOrder(t *testing.T) {
	objects := mustShop(t, sampleShop(t))
	at := func(kind, name string) int {
		return slices.IndexFunc(objects, func(o component.Object) bool {
			return o.Resource.GetObjectKind().GroupVersionKind().Kind == kind && o.Resource.GetName() == name
		})
	}
	name := "my-ecommerce-app-frontend"
	d, s, i := at("Deployment", name), at("Service", name), at("Ingress", "my-ecommerce-app-ingress")
	if d < 0 || d >= s || s >= i {
		t.Errorf("Deployment %d, Service %d, Ingress %d", d, s, i)
	}
	if n := len(all[*networkingv1.Ingress](objects)); n != 1 {
		t.Errorf("there are %d Ingresses", n)
	}
}

func TestDependencies(t *testing.T) {
	components, err := EcommerceApp(sampleShop(t), Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, c := range components {
		got[c.Name] = c.DependsOn
	}
	want := map[string][]string{
		database.Component: nil, Backend: {database.Component}, Frontend: {Backend}, Ingress: {Frontend}, Monitoring: {Backend, Frontend},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDisabled(t *testing.T) {
	app := sampleShop(t)
	app.Spec.Database, app.Spec.Backend.Image, app.Spec.Monitoring.Enabled = nil, "", false
	components, err := EcommerceApp(app, Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range components {
		if want := c.Name == database.Component || c.Name == Backend || c.Name == Monitoring; c.Disabled != want {
			t.Errorf("%s: disabled is %t", c.Name, c.Disabled)
		}
	}
}

// TestFrontendDefaults checks that the top level's image and replicas are defaults of the frontend's.
func TestFrontendDefaults(t *testing.T) {
	app := sampleShop(t)
	app.Spec.Frontend.Image, app.Spec.Frontend.Replicas = "", nil
	app.Spec.Image, app.Spec.Replicas = "other:v1", new(int32(5))
	d := deployment(t, mustShop(t, app), "my-ecommerce-app-frontend")
	if d.Spec.Template.Spec.Containers[0].Image != "other:v1" || *d.Spec.Replicas != 5 {
		t.Errorf("image %s, %d replicas", d.Spec.Template.Spec.Containers[0].Image, *d.Spec.Replicas)
	}
	app.Spec.Replicas = nil
	if d = deployment(t, mustShop(t, app), "my-ecommerce-app-frontend"); *d.Spec.Replicas != 1 {
		t.Errorf("%d replicas without any number", *d.Spec.Replicas)
	}
}

// TestQuantitiesAreCanonical checks that cpu: 1000m and cpu: "1" are rendered alike.
func TestQuantitiesAreCanonical(t *testing.T) {
	render := func(cpu string) string {
		app := sampleShop(t)
		app.Spec.Backend.Resources = v1.Resources{}
		if err := yaml.Unmarshal([]byte(`{requests: {cpu: "`+cpu+`"}}`), &app.Spec.Backend.Resources); err != nil {
			t.Fatal(err)
		}
		j, err := json.Marshal(deployment(t, mustShop(t, app), "my-ecommerce-app-backend"))
		if err != nil {
			t.Fatal(err)
		}
		return string(j)
	}
	if render("1000m") != render("1") {
		t.Error("equal quantities are rendered differently")
	}
}

// TestAutoscaling checks that replicas are left to the autoscaler: otherwise two clients would decide about them.
func TestAutoscaling(t *testing.T) {
	app := sampleShop(t)
	app.Spec.Frontend.Replicas = nil
	app.Spec.Frontend.Autoscaling = &v1.Autoscaling{MinReplicas: 1, MaxReplicas: 4}
	objects := mustShop(t, app)
	if d := deployment(t, objects, "my-ecommerce-app-frontend"); d.Spec.Replicas != nil {
		t.Errorf("the Deployment asks for %d replicas", *d.Spec.Replicas)
	}
	scalers := all[*autoscalingv2.HorizontalPodAutoscaler](objects)
	if len(scalers) != 1 || scalers[0].Spec.ScaleTargetRef.Name != "my-ecommerce-app-frontend" {
		t.Fatalf("autoscalers: %v", scalers)
	}
	if *scalers[0].Spec.Metrics[0].Resource.Target.AverageUtilization != 80 {
		t.Error("the default target is not 80")
	}
	// A part of a pod is rounded up: the budget allows the eviction of one pod of one, and is there for the others.
	budget := budgetOf(objects, "my-ecommerce-app-frontend")
	if budget == nil {
		t.Fatal("up to four pods have no budget")
	}
	if n, err := intstr.GetScaledValueFromIntOrPercent(budget.Spec.MaxUnavailable, 1, true); err != nil || n != 1 {
		t.Errorf("%d pods of one can be evicted (%v)", n, err)
	}
	for _, o := range objects {
		if d, ok := o.Resource.(*appsv1.Deployment); ok && (o.StartReplicas == 1) != (d.Name == "my-ecommerce-app-frontend") {
			t.Errorf("%s starts with %d replicas", d.Name, o.StartReplicas)
		}
	}
	app.Spec.Frontend.Autoscaling = &v1.Autoscaling{MinReplicas: 1, MaxReplicas: 1}
	if budgetOf(mustShop(t, app), "my-ecommerce-app-frontend") != nil {
		t.Error("a single pod has a budget")
	}
}

// budgetOf returns the disruption budget of a name; nil if there is none.
func budgetOf(objects []component.Object, name string) *policyv1.PodDisruptionBudget {
	for _, b := range all[*policyv1.PodDisruptionBudget](objects) {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// TestBlueGreen checks that each version of the pods has a Deployment with a name and labels of its own, and shares
// all other objects.
func TestBlueGreen(t *testing.T) {
	const name = "my-ecommerce-app-frontend"
	render := func(change func(*v1.Workload)) (*appsv1.Deployment, []component.Object) {
		app := sampleShop(t)
		app.Spec.Frontend.Strategy = v1.StrategyBlueGreen
		change(&app.Spec.Frontend)
		objects := mustShop(t, app)
		i := slices.IndexFunc(all[*appsv1.Deployment](objects), func(d *appsv1.Deployment) bool { return strings.HasPrefix(d.Name, name+"-") })
		return all[*appsv1.Deployment](objects)[i], objects
	}
	first, objects := render(func(*v1.Workload) {})
	hash := first.Spec.Template.Labels[v1.PodTemplateLabel]
	if first.Name != name+"-"+hash || hash == "" {
		t.Errorf("the Deployment of pods %q is %s", hash, first.Name)
	}
	for _, o := range objects {
		if service, ok := o.Resource.(*corev1.Service); ok && service.Name == name {
			if diff := cmp.Diff(first.Spec.Selector.MatchLabels, service.Spec.Selector); diff != "" {
				t.Errorf("the Service selects other pods (-Deployment +Service):\n%s", diff)
			}
		}
	}
	if scaled, _ := render(func(w *v1.Workload) { w.Replicas = new(int32(7)) }); scaled.Name != first.Name {
		t.Error("another number of pods is another version")
	}
	for field, change := range map[string]func(*v1.Workload){
		"image": func(w *v1.Workload) { w.Image = "other:v1" },
		"env":   func(w *v1.Workload) { w.Env = []v1.EnvVar{{Name: "LOG", Value: "debug"}} },
		"port":  func(w *v1.Workload) { w.Port = 8081 },
	} {
		if edited, _ := render(change); edited.Name == first.Name {
			t.Errorf("another %s is no other version", field)
		}
	}
}

// TestEnvironment checks that the user's variables take precedence, and stand where the application's would.
func TestEnvironment(t *testing.T) {
	app := sampleShop(t)
	app.Spec.Backend.Env = []v1.EnvVar{{Name: "DB_USER", Value: "mine"}, {Name: "OWN", Value: "x"}}
	app.Spec.Backend.EnvFrom = []v1.EnvFromSource{{Prefix: "P_"}}
	c := deployment(t, mustShop(t, app), "my-ecommerce-app-backend").Spec.Template.Spec.Containers[0]
	names := make([]string, 0, len(c.Env))
	for _, e := range c.Env {
		names = append(names, e.Name)
		if e.Name == "DB_USER" && e.Value != "mine" || e.Name == "DATABASE_URL" && !strings.Contains(e.Value, "$(DB_USER):") {
			t.Errorf("%s is %+v", e.Name, e)
		}
	}
	if diff := cmp.Diff([]string{"DB_NAME", "DB_USER", "DB_PASSWORD", "DATABASE_URL", "OWN"}, names); diff != "" {
		t.Error(diff)
	}
	if len(c.EnvFrom) != 2 || c.EnvFrom[1].Prefix != "P_" {
		t.Errorf("envFrom = %+v, want the user's last", c.EnvFrom)
	}
}

// TestConfigNames checks that changed settings are in a ConfigMap of another name, which replaces the pods that read
// it, and no others.
func TestConfigNames(t *testing.T) {
	t.Parallel()
	before := configNames(t, func(*v1.EcommerceApp) {})
	if len(before) != 3 || !regexp.MustCompile("^my-ecommerce-app-backend-[0-9a-f]{8}$").MatchString(before[Backend]) {
		t.Errorf("ConfigMaps of settings: %v, want those of database, backend and frontend", before)
	}
	for part, change := range map[string]func(*v1.EcommerceApp){
		Ingress:  func(a *v1.EcommerceApp) { a.Spec.Frontend.Image, a.Spec.Ingress.Host = "other:v2", "shop.example.com" },
		Frontend: func(a *v1.EcommerceApp) { a.Spec.Frontend.Port = 9999 },
		database.Component: func(a *v1.EcommerceApp) {
			a.Spec.Database.Resources.Requests = v1.Amounts{v1.ResourceMemory: resource.MustParse("8Gi")}
		},
		"volume": func(a *v1.EcommerceApp) { a.Spec.Database.Storage = "2Gi" },
	} {
		after := configNames(t, change)
		for of, name := range before {
			if changed := after[of] != name; changed != (of == part) {
				t.Errorf("a change of the %s: the name of the ConfigMap of the %s changes: %t", part, of, changed)
			}
		}
	}
}

// configNames returns the names of the ConfigMaps with settings of a changed sample by component, and
// checks that the pods read them.
func configNames(t *testing.T, change func(*v1.EcommerceApp)) map[string]string {
	t.Helper()
	app := sampleShop(t)
	change(app)
	objects, names, hashed := mustShop(t, app), map[string]string{}, regexp.MustCompile("-[0-9a-f]{8}$")
	for _, c := range all[*corev1.ConfigMap](objects) {
		if hashed.MatchString(c.Name) {
			names[c.Labels[v1.ComponentLabel]] = c.Name
		}
	}
	for _, part := range []string{Backend, Frontend} {
		read := deployment(t, objects, app.Name+"-"+part).Spec.Template.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name
		if read != names[part] {
			t.Errorf("the pods of the %s read %s, want %s", part, read, names[part])
		}
	}
	if read := all[*appsv1.StatefulSet](objects)[0].Spec.Template.Spec.Volumes[0].ConfigMap.Name; read != names[database.Component] {
		t.Errorf("the pods of the database read %s, want %s", read, names[database.Component])
	}
	return names
}

func TestRestart(t *testing.T) {
	app := sampleShop(t)
	app.Annotations = map[string]string{v1.RestartedAtAnnotation: "token"}
	for _, o := range mustShop(t, app) {
		for _, p := range podTemplates(o.Resource) {
			want := ""
			if name := o.Resource.GetName(); name == "my-ecommerce-app-backend" || name == "my-ecommerce-app-frontend" {
				want = "token"
			}
			if got := p.Annotations[v1.RestartedAtAnnotation]; got != want {
				t.Errorf("%s: restarted at %q, want %q", o.Resource.GetName(), got, want)
			}
		}
	}
}

func TestInvalid(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1.EcommerceApp)
		want   string
	}{
		"no image":     {func(a *v1.EcommerceApp) { a.Spec.Image, a.Spec.Frontend.Image = "", "" }, "spec.frontend.image"},
		"storage":      {func(a *v1.EcommerceApp) { a.Spec.Database.Storage = "much" }, "spec.database.storage"},
		"engine":       {func(a *v1.EcommerceApp) { a.Spec.Database.Engine = "foo" }, "spec.database.engine"},
		"issuer alone": {func(a *v1.EcommerceApp) { a.Spec.Security.TLS.IssuerRef = &v1.IssuerReference{Name: "i"} }, "spec.ingress.host"},
	} {
		t.Run(name, func(t *testing.T) {
			app := sampleShop(t)
			c.change(app)
			if _, err := EcommerceApp(app, Cluster{Certificates: true}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error = %v, want one that begins with %s", err, c.want)
			}
		})
	}
}

func TestWebApp(t *testing.T) {
	app := &webappv1.WebApp{}
	sample(t, "webapp", app)
	components, err := WebApp(app, Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	d := deployment(t, components[0].Objects, "nginx-app")
	if *d.Spec.Replicas != 3 {
		t.Errorf("%d replicas", *d.Spec.Replicas)
	}
	if violations := restricted(d.Spec.Template.Spec); len(violations) > 0 {
		t.Error(violations)
	}
	s := all[*corev1.Service](components[0].Objects)[0]
	if s.Name != "nginx-app" || s.Spec.Ports[0].Port != 80 {
		t.Errorf("Service %s on %d", s.Name, s.Spec.Ports[0].Port)
	}
	// Port 80 needs the sysctl; one above does not.
	if len(d.Spec.Template.Spec.SecurityContext.Sysctls) != 1 {
		t.Error("the container may not listen on port 80")
	}
	app.Spec.Port = 8080
	if components, err = WebApp(app, Cluster{}); err != nil {
		t.Fatal(err)
	}
	d = deployment(t, components[0].Objects, "nginx-app")
	if len(d.Spec.Template.Spec.SecurityContext.Sysctls) != 0 {
		t.Error("port 8080 asks for a sysctl")
	}
}

func mustShop(t *testing.T, app *v1.EcommerceApp) []component.Object {
	t.Helper()
	components, err := EcommerceApp(app, Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	var objects []component.Object
	for _, c := range components {
		objects = append(objects, c.Objects...)
	}
	return objects
}

func all[T component.Resource](objects []component.Object) []T {
	var found []T
	for _, o := range objects {
		if r, ok := o.Resource.(T); ok {
			found = append(found, r)
		}
	}
	return found
}

func deployment(t *testing.T, objects []component.Object, name string) *appsv1.Deployment {
	t.Helper()
	for _, d := range all[*appsv1.Deployment](objects) {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("there is no Deployment %s", name)
	return nil
}

// settingsOf returns the settings of the pods of an object in one line.
func settingsOf(t *testing.T, objects []component.Object, name string) string {
	t.Helper()
	for _, o := range objects {
		templates := podTemplates(o.Resource)
		if o.Resource.GetName() != name || len(templates) == 0 {
			continue
		}
		pod := templates[0].Spec
		var secrets []string
		for _, secret := range pod.ImagePullSecrets {
			secrets = append(secrets, secret.Name)
		}
		return fmt.Sprintf("%s|%v|%d|%s|%s", strings.Join(secrets, " "), pod.NodeSelector, len(pod.Tolerations), pod.PriorityClassName, pod.ServiceAccountName)
	}
	t.Fatalf("there are no pods of %s", name)
	return ""
}
