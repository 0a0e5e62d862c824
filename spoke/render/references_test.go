package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// refers returns environment variables and sources that refer to two Secrets and two ConfigMaps.
func refers(w *v1.Workload, optional *bool) {
	w.EnvFrom = []v1.EnvFromSource{
		{SecretRef: &v1.EnvFromReference{Name: "payment", Optional: optional}},
		{ConfigMapRef: &v1.EnvFromReference{Name: "settings", Optional: optional}},
	}
	w.Env = v1.EnvVars{
		{Name: "A", Value: "a"},
		{Name: "B", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.FieldReference{FieldPath: "metadata.name"}}},
		{Name: "C", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.KeyReference{Name: "key", Key: "k", Optional: optional}}},
		{Name: "D", ValueFrom: &v1.EnvVarSource{ConfigMapKeyRef: &v1.KeyReference{Name: "limits", Key: "k", Optional: optional}}},
		{Name: "E", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.KeyReference{Name: "payment", Key: "k", Optional: optional}}},
	}
}

func TestReferences(t *testing.T) {
	secret := func(name string) *v1.LocalSecretReference { return &v1.LocalSecretReference{Name: name} }
	pulls := v1.PodSettings{ImagePullSecrets: []v1.LocalSecretReference{{Name: "registry"}, {Name: "mirror"}}}
	for name, tt := range map[string]struct {
		change func(*v1.EcommerceAppSpec)
		// want are the kinds and names by component.
		want map[string][]string
	}{
		"the sample": {func(*v1.EcommerceAppSpec) {}, nil},
		"pull secrets": {func(s *v1.EcommerceAppSpec) {
			s.Database.PodSettings, s.Backend.PodSettings, s.Security.Authentication.Enabled = pulls, pulls, false
		}, map[string][]string{"database": {"Secret mirror", "Secret registry"}, Backend: {"Secret mirror", "Secret registry"}}},
		"pull secrets of the proxy": {func(s *v1.EcommerceAppSpec) { s.Frontend.PodSettings = pulls },
			map[string][]string{Frontend: {"Secret mirror", "Secret registry"}, Ingress: {"Secret mirror", "Secret registry"}}},
		"environment": {func(s *v1.EcommerceAppSpec) { refers(&s.Backend, nil); refers(&s.Frontend, new(false)) }, map[string][]string{
			Backend:  {"ConfigMap limits", "ConfigMap settings", "Secret key", "Secret payment"},
			Frontend: {"ConfigMap limits", "ConfigMap settings", "Secret key", "Secret payment"},
		}},
		"optional":                {func(s *v1.EcommerceAppSpec) { refers(&s.Backend, new(true)) }, nil},
		"certificate":             {func(s *v1.EcommerceAppSpec) { s.Security.TLS.SecretRef = secret("certificate") }, map[string][]string{Ingress: {"Secret certificate"}}},
		"certificate without TLS": {func(s *v1.EcommerceAppSpec) { s.Security.TLS = v1.TLS{SecretRef: secret("certificate")} }, nil},
		"certificate of a Gateway": {func(s *v1.EcommerceAppSpec) {
			s.Security.TLS.SecretRef, s.Ingress.GatewayRef, s.Ingress.ClassName = secret("certificate"), &v1.GatewayReference{Name: "public"}, nil
		}, nil},
		"issued certificate": {func(s *v1.EcommerceAppSpec) {
			s.Ingress.Host, s.Security.TLS.IssuerRef = "shop.example.com", &v1.IssuerReference{Name: "letsencrypt"}
		}, nil},
		"login": {func(s *v1.EcommerceAppSpec) { s.Security.Authentication.SecretRef = secret("login") }, map[string][]string{Ingress: {"Secret login"}}},
		"login that is disabled": {func(s *v1.EcommerceAppSpec) {
			s.Security.Authentication = v1.Authentication{SecretRef: secret("login")}
		}, nil},
		"credentials of a database": {func(s *v1.EcommerceAppSpec) { s.Database.CredentialsSecretRef = secret("ours") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			app := sampleShop(t)
			tt.change(&app.Spec)
			components, err := EcommerceApp(app, Cluster{Certificates: true, HTTPRoutes: true})
			if err != nil {
				t.Fatal(err)
			}
			got := referencesOf(t, components, app.Namespace)
			if tt.want == nil {
				tt.want = map[string][]string{}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("references (-want +got):\n%s", diff)
			}
		})
	}
}

// referencesOf returns the kinds and names that components refer to in a namespace.
func referencesOf(t *testing.T, components []component.Component, namespace string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, c := range components {
		for _, key := range c.References {
			found[c.Name] = append(found[c.Name], key.Kind+" "+key.Name)
			if key.Namespace != namespace || key.Group != "" {
				t.Errorf("%+v", key)
			}
		}
	}
	return found
}
