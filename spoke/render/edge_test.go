package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

func TestCertificates(t *testing.T) {
	issuer := func(app *v1.EcommerceApp) {
		app.Spec.Security.TLS.IssuerRef = &v1.IssuerReference{Name: "letsencrypt"}
		app.Spec.Ingress.Host = "shop.example.com"
	}
	cases := map[string]struct {
		change  func(*v1.EcommerceApp)
		cluster Cluster
		secret  string
		kind    string
		note    string
	}{
		"self-signed":          {func(*v1.EcommerceApp) {}, Cluster{Certificates: true}, "my-ecommerce-app-tls", "Secret", ""},
		"given":                {func(a *v1.EcommerceApp) { a.Spec.Security.TLS.SecretRef = &v1.LocalSecretReference{Name: "mine"} }, Cluster{Certificates: true}, "mine", "", ""},
		"issued":               {issuer, Cluster{Certificates: true}, "my-ecommerce-app-certificate", "Certificate", ""},
		"without cert-manager": {issuer, Cluster{}, "my-ecommerce-app-tls", "Secret", noteSelfSigned},
		"not known yet":        {issuer, Cluster{CertificatesUnknown: true}, "my-ecommerce-app-certificate", "", noteCertificatesUnknown},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			app := sampleShop(t)
			app.Spec.Security.Authentication.Enabled = false
			c.change(app)
			components, err := EcommerceApp(app, c.cluster)
			if err != nil {
				t.Fatal(err)
			}
			ingress := components[3]
			object := all[*networkingv1.Ingress](ingress.Objects)[0]
			if got := object.Spec.TLS[0].SecretName; got != c.secret {
				t.Errorf("the Ingress uses %q, want %q", got, c.secret)
			}
			if made := kindOf(ingress.Objects, c.secret); made != c.kind {
				t.Errorf("it is made by a %q, want a %q", made, c.kind)
			}
			if instead := ingress.SelfSigned != ""; ingress.Note != c.note || instead != (c.note == noteSelfSigned) {
				t.Errorf("note = %q, want %q; self-signed in place of an issued one: %t", ingress.Note, c.note, instead)
			}
		})
	}
}

// kindOf returns the kind of the last object with a name; empty if there is none.
func kindOf(objects []component.Object, name string) string {
	kind := ""
	for _, o := range objects {
		if o.Resource.GetName() == name {
			kind = o.Resource.GetObjectKind().GroupVersionKind().Kind
		}
	}
	return kind
}

// TestAuthentication checks that customers reach the proxy, and only the proxy the frontend, if there is a login.
func TestAuthentication(t *testing.T) {
	app := sampleShop(t)
	app.Spec.Monitoring.Enabled = false
	components, err := EcommerceApp(app, Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	ingress := components[3]
	if ingress.Impaired != v1.ReasonLoginNotConfigured || !strings.Contains(ingress.Impairment, "spec.security.authentication.secretRef") {
		t.Errorf("impaired: %s, %q", ingress.Impaired, ingress.Impairment)
	}
	rule := all[*networkingv1.Ingress](ingress.Objects)[0].Spec.Rules[0]
	if got := rule.HTTP.Paths[0].Backend.Service.Name; got != "my-ecommerce-app-oauth2-proxy" {
		t.Errorf("the Ingress leads to %q", got)
	}
	policy := all[*networkingv1.NetworkPolicy](components[2].Objects)[0]
	if from := policy.Spec.Ingress[0].From; len(from) != 1 || from[0].PodSelector.MatchLabels[v1.ComponentLabel] != Ingress {
		t.Errorf("the frontend admits %+v", from)
	}

	app.Spec.Security.Authentication.SecretRef = &v1.LocalSecretReference{Name: "login"}
	app.Spec.Security.Authentication.EmailDomains = []string{"example.com"}
	components, err = EcommerceApp(app, Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	c := deployment(t, components[3].Objects, "my-ecommerce-app-oauth2-proxy").Spec.Template.Spec.Containers[0]
	if slices.ContainsFunc(c.Args, func(a string) bool { return strings.Contains(a, "invalid") }) {
		t.Errorf("with credentials there are still placeholders: %q", c.Args)
	}
	if c.Env[0].ValueFrom.SecretKeyRef.Name != "login" {
		t.Errorf("the client's id comes from %q", c.Env[0].ValueFrom.SecretKeyRef.Name)
	}

	app.Spec.Security.Authentication.Enabled = false
	objects := mustShop(t, app)
	if got := all[*networkingv1.Ingress](objects)[0].Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name; got != "my-ecommerce-app-frontend" {
		t.Errorf("without a login the Ingress leads to %q", got)
	}
}

func TestMonitoring(t *testing.T) {
	for name, c := range map[string]struct {
		cluster Cluster
		want    []string
		scraped bool
	}{
		"no operator": {Cluster{}, []string{"ConfigMap", "ConfigMap"}, true},
		"operator":    {Cluster{ServiceMonitors: true, PrometheusRules: true}, []string{"ServiceMonitor", "PrometheusRule", "ConfigMap"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			components, err := EcommerceApp(sampleShop(t), c.cluster)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, o := range components[4].Objects {
				kinds = append(kinds, o.Resource.GetObjectKind().GroupVersionKind().Kind)
			}
			if diff := cmp.Diff(c.want, kinds); diff != "" {
				t.Error(diff)
			}
			checkScraped(t, all[*corev1.Service](slices.Concat(components[1].Objects, components[2].Objects)), c.scraped)
		})
	}
}

// checkScraped checks the annotations of the Services of backend and frontend.
func checkScraped(t *testing.T, services []*corev1.Service, scraped bool) {
	t.Helper()
	var want map[string]string
	if scraped {
		want = map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "8080", "prometheus.io/path": "/metrics"}
	}
	if len(services) != 2 {
		t.Fatalf("%d Services, want 2", len(services))
	}
	for _, service := range services {
		if diff := cmp.Diff(want, service.Annotations); diff != "" {
			t.Errorf("Service %s (-want +got):\n%s", service.Name, diff)
		}
	}
}

// TestOptionalKindsReplaceNoPods checks that kinds of the Prometheus operator and of cert-manager that are installed,
// removed, or cannot be listed change no pod template.
func TestOptionalKindsReplaceNoPods(t *testing.T) {
	app := sampleShop(t)
	want := workloadsOf(t, app, Cluster{})
	for name, cluster := range map[string]Cluster{
		"installed":         {ServiceMonitors: true, PrometheusRules: true, Certificates: true},
		"monitors alone":    {ServiceMonitors: true},
		"rules alone":       {PrometheusRules: true},
		"unknown":           {CertificatesUnknown: true, HTTPRoutesUnknown: true},
		"with HTTPRoutes":   {HTTPRoutes: true},
		"monitors, unknown": {ServiceMonitors: true, CertificatesUnknown: true},
	} {
		got := workloadsOf(t, app, cluster)
		if len(got) != 4 {
			t.Errorf("%s: %d workloads, want 4", name, len(got))
		}
		for component, object := range got {
			if diff := cmp.Diff(podTemplates(want[component].Resource), podTemplates(object.Resource)); diff != "" || object.Inputs != want[component].Inputs {
				t.Errorf("%s: the pods of the %s (-before +after):\n%s", name, component, diff)
			}
		}
	}
}

// TestMonitoringFiles checks that Grafana and Prometheus can read the rendered files.
func TestMonitoringFiles(t *testing.T) {
	found := map[string]int{}
	for _, cm := range all[*corev1.ConfigMap](mustShop(t, sampleShop(t))) {
		for file, content := range cm.Data {
			var d struct {
				Panels []any
				Groups []struct {
					Rules []struct{ Alert, Expr string }
				}
			}
			switch file {
			case "my-ecommerce-app-dashboard.json", "alerts.yaml":
				if err := yaml.Unmarshal([]byte(content), &d); err != nil {
					t.Errorf("%s: %v", file, err)
				}
				found[file] = len(d.Panels)
				if len(d.Groups) == 1 {
					found[file] = len(d.Groups[0].Rules)
				}
			}
		}
		if label := cm.Labels["grafana_dashboard"]; (label == "1") != (cm.Name == "my-ecommerce-app-dashboard") {
			t.Errorf("%s: grafana_dashboard is %q", cm.Name, label)
		}
	}
	if diff := cmp.Diff(map[string]int{"my-ecommerce-app-dashboard.json": 11, "alerts.yaml": 10}, found); diff != "" {
		t.Errorf("panels and rules: %s", diff)
	}
}
