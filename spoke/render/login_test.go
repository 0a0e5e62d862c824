package render

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestAdmission checks whom the login admits, and that the status says so when it admits no user.
func TestAdmission(t *testing.T) {
	const noSecret = "spec.security.authentication.secretRef, because the credentials are placeholders"
	const noUsers = "spec.security.authentication.emailDomains or allowedGroups, because no user is admitted"
	login := &v1.LocalSecretReference{Name: "login"}
	tests := map[string]struct {
		login      v1.Authentication
		args       []string
		impairment string
	}{
		"nothing":            {v1.Authentication{}, []string{"--email-domain=no-user.login.invalid"}, "no user can log in: set " + noSecret + ", and " + noUsers},
		"credentials":        {v1.Authentication{SecretRef: login}, []string{"--email-domain=no-user.login.invalid"}, "no user can log in: set " + noUsers},
		"domains":            {v1.Authentication{EmailDomains: []string{"*"}}, []string{"--email-domain=*"}, "no user can log in: set " + noSecret},
		"one domain":         {v1.Authentication{SecretRef: login, EmailDomains: []string{"a.com"}}, []string{"--email-domain=a.com"}, ""},
		"all domains":        {v1.Authentication{SecretRef: login, EmailDomains: []string{"*"}}, []string{"--email-domain=*"}, ""},
		"groups":             {v1.Authentication{SecretRef: login, AllowedGroups: []string{"a", "b"}}, []string{"--email-domain=*", "--allowed-group=a", "--allowed-group=b"}, ""},
		"domains and groups": {v1.Authentication{SecretRef: login, EmailDomains: []string{"a.com", ".b.com"}, AllowedGroups: []string{"a"}}, []string{"--email-domain=a.com", "--email-domain=.b.com", "--allowed-group=a"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			app := sampleShop(t)
			tt.login.Enabled = true
			app.Spec.Security.Authentication = tt.login
			components, err := EcommerceApp(app, Cluster{})
			if err != nil {
				t.Fatal(err)
			}
			ingress := components[3]
			args := slices.DeleteFunc(deployment(t, ingress.Objects, "my-ecommerce-app-oauth2-proxy").Spec.Template.Spec.Containers[0].Args, func(arg string) bool {
				return !strings.HasPrefix(arg, "--email-domain") && !strings.HasPrefix(arg, "--allowed-group")
			})
			if diff := cmp.Diff(tt.args, args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if message := "ingress: " + ingress.Impairment; tt.impairment != "" && v1.Excerpt(message, v1.MaxClusterMessage) != message {
				t.Errorf("the hub would cut %q", message)
			}
			if ingress.Impairment != tt.impairment || (ingress.Impaired == v1.ReasonLoginNotConfigured) != (tt.impairment != "") {
				t.Errorf("impaired %q: %q, want %q", ingress.Impaired, ingress.Impairment, tt.impairment)
			}
		})
	}
}

// TestTrust checks whose X-Forwarded headers the login believes: those of the networks that are
// listed, and otherwise none.
func TestTrust(t *testing.T) {
	for name, tt := range map[string]struct{ networks, want []string }{
		"none":     {nil, nil},
		"networks": {[]string{"10.244.0.0/16", "fd00::/8"}, []string{"--reverse-proxy=true", "--trusted-proxy-ip=10.244.0.0/16", "--trusted-proxy-ip=fd00::/8"}},
	} {
		t.Run(name, func(t *testing.T) {
			app := sampleShop(t)
			app.Spec.Security.Authentication.TrustedProxies = tt.networks
			args := slices.DeleteFunc(deployment(t, mustShop(t, app), "my-ecommerce-app-oauth2-proxy").Spec.Template.Spec.Containers[0].Args, func(arg string) bool {
				return !strings.Contains(arg, "reverse-proxy") && !strings.Contains(arg, "trusted")
			})
			if diff := cmp.Diff(tt.want, args, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPodSettings checks that the proxy gets the settings of the frontend, the dumps those of the
// database, and each pod its own.
func TestPodSettings(t *testing.T) {
	app := everythingShop(t)
	for name, want := range map[string]string{
		"everything-backend": "registry mirror|map[]|0||everything-backend", "everything-frontend": "registry|map[pool:web]|1|web|everything-frontend",
		"everything-oauth2-proxy": "registry|map[pool:web]|1|web|", "everything-database": "registry|map[disk:ssd]|1|database-critical|everything-database",
		"everything-database-backup": "registry|map[disk:ssd]|1|database-critical|",
	} {
		if got := settingsOf(t, mustShop(t, app), name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestPodLabels checks that pods have the labels and annotations of their settings, and that nothing else
// has them: selectors and claim templates cannot be changed.
func TestPodLabels(t *testing.T) {
	t.Parallel()
	mark := func(s *v1.PodSettings, of string) {
		s.PodLabels = map[string]string{"example.com/team": of, v1.ComponentLabel: "others"}
		s.PodAnnotations = map[string]string{"example.com/inject": of, "prometheus.io/scrape": of}
	}
	for _, strategy := range []v1.WorkloadStrategy{v1.StrategyRollingUpdate, v1.StrategyBlueGreen} {
		app := everythingShop(t)
		app.Spec.Backend.Autoscaling, app.Spec.Backend.Strategy, app.Spec.Frontend.Strategy = nil, strategy, strategy
		mark(&app.Spec.Database.PodSettings, "data")
		mark(&app.Spec.Backend.PodSettings, "api")
		mark(&app.Spec.Frontend.PodSettings, "web")
		found := map[string]int{}
		for _, o := range mustShop(t, app) {
			for _, team := range teamsOf(t, o.Resource) {
				found[team]++
			}
		}
		if diff := cmp.Diff(map[string]int{"data": 2, "api": 1, "web": 2}, found); diff != "" {
			t.Errorf("templates with the labels of each component (-want +got):\n%s", diff)
		}
	}
}

// teamsOf returns the team of each pod template of an object, and checks that nothing else of it has one.
func teamsOf(t *testing.T, object component.Resource) []string {
	t.Helper()
	var teams []string
	for _, p := range podTemplates(object) {
		team := p.Labels["example.com/team"]
		teams = append(teams, team)
		if p.Annotations["example.com/inject"] != team || p.Annotations["prometheus.io/scrape"] != team {
			t.Errorf("%s: annotations %v, want those of %s", object.GetName(), p.Annotations, team)
		}
		if p.Labels[v1.ComponentLabel] == "others" {
			t.Errorf("%s: the label that its Service selects is replaced", object.GetName())
		}
		delete(p.Labels, "example.com/team")
	}
	rest, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(rest), "example.com/team") {
		t.Errorf("the label is not on the pods of %s alone:\n%s", object.GetName(), rest)
	}
	return teams
}

// TestPodUserIDs checks that the cluster gives the pods of every component their users, and that nothing
// else of them differs: they stay restricted.
func TestPodUserIDs(t *testing.T) {
	t.Parallel()
	fixed := everythingShop(t)
	free := fixed.DeepCopy()
	fixed.Spec.Security.PodUserIDs, free.Spec.Security.PodUserIDs = v1.PodUserIDsFixed, v1.PodUserIDsNamespace
	before, after := mustShop(t, fixed), mustShop(t, free)
	count := 0
	for i := range before {
		with, without := podTemplates(before[i].Resource), podTemplates(after[i].Resource)
		for j := range with {
			count++
			pod := with[j].Spec.SecurityContext
			if pod.RunAsUser == nil || pod.RunAsGroup == nil || pod.FSGroup == nil {
				t.Errorf("%s has no user with Fixed", before[i].Resource.GetName())
			}
			pod.RunAsUser, pod.RunAsGroup, pod.FSGroup = nil, nil, nil
			if diff := cmp.Diff(with[j], without[j]); diff != "" {
				t.Errorf("%s (-without the IDs +Namespace):\n%s", before[i].Resource.GetName(), diff)
			}
			if violations := restricted(without[j].Spec); len(violations) > 0 {
				t.Errorf("%s violates the restricted standard: %q", after[i].Resource.GetName(), violations)
			}
		}
	}
	if count != 5 {
		t.Errorf("%d pod templates, want those of database, dumps, backend, frontend and login", count)
	}
}

// TestScheme checks that the login's URL and cookies are those of what users connect to: the listener of a
// Gateway, or an Ingress.
func TestScheme(t *testing.T) {
	t.Parallel()
	gateway := func(p v1.GatewayProtocol) *v1.GatewayReference {
		return &v1.GatewayReference{Name: "public", Protocol: p}
	}
	secure, plain := []string{"--cookie-secure=true", "--redirect-url=https:"}, []string{"--cookie-secure=false", "--redirect-url=http:"}
	for name, tt := range map[string]struct {
		gateway *v1.GatewayReference
		tls     bool
		want    []string
	}{
		"Ingress":                        {nil, false, plain},
		"Ingress with TLS":               {nil, true, secure},
		"listener with TLS":              {gateway(""), false, secure},
		"listener with TLS, named":       {gateway(v1.GatewayHTTPS), false, secure},
		"listener with our certificate":  {gateway(""), true, secure},
		"listener without TLS":           {gateway(v1.GatewayHTTP), false, plain},
		"listener without TLS in a word": {gateway(v1.GatewayHTTP), true, plain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := sampleShop(t)
			app.Spec.Ingress.GatewayRef, app.Spec.Security.TLS = tt.gateway, v1.TLS{Enabled: tt.tls}
			app.Spec.Ingress.Host = "shop.example.com"
			for _, c := range []Cluster{{}, {HTTPRoutes: true}, {HTTPRoutesUnknown: true}} {
				if diff := cmp.Diff(tt.want, schemeArgs(t, app, c)); diff != "" {
					t.Errorf("arguments (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestSchemeOfAClass checks that the login behind an Ingress in place of a Gateway has the scheme of the Ingress.
func TestSchemeOfAClass(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		protocol v1.GatewayProtocol
		tls      bool
		// gateway and ingress are whether the login is secure behind each.
		gateway, ingress bool
	}{
		"listener with TLS, Ingress without": {v1.GatewayHTTPS, false, true, false},
		"listener without TLS, Ingress with": {v1.GatewayHTTP, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := sampleShop(t)
			app.Spec.Ingress.ClassName, app.Spec.Ingress.GatewayRef = new("nginx"), &v1.GatewayReference{Name: "public", Protocol: tt.protocol}
			app.Spec.Security.TLS = v1.TLS{Enabled: tt.tls}
			for c, want := range map[Cluster]bool{{}: tt.ingress, {HTTPRoutes: true}: tt.gateway} {
				if got := slices.Contains(schemeArgs(t, app, c), "--cookie-secure=true"); got != want {
					t.Errorf("served %t: secure cookies %t, want %t", c.HTTPRoutes, got, want)
				}
			}
		})
	}
}

// schemeArgs returns the arguments of the login that depend on the scheme.
func schemeArgs(t *testing.T, app *v1.EcommerceApp, c Cluster) []string {
	t.Helper()
	components, err := EcommerceApp(app, c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, arg := range deployment(t, components[3].Objects, "my-ecommerce-app-oauth2-proxy").Spec.Template.Spec.Containers[0].Args {
		if strings.HasPrefix(arg, "--cookie-secure") || strings.HasPrefix(arg, "--redirect-url") {
			arg, _, _ = strings.Cut(arg, "//")
			got = append(got, arg)
		}
	}
	return got
}

// TestListensOnAllAddresses checks that nothing that is rendered listens on addresses of IPv4 alone: clusters
// of IPv6 have none.
func TestListensOnAllAddresses(t *testing.T) {
	t.Parallel()
	golden, err := filepath.Glob(filepath.Join("testdata", "*.golden.yaml"))
	if err != nil || len(golden) == 0 {
		t.Fatalf("golden files %q: %v", golden, err)
	}
	for _, name := range golden {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "0.0.0.0") {
			t.Errorf("%s has an address of IPv4 that stands for all: leave it out, as in :4180", name)
		}
	}
}
