package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestWayIn decides between an Ingress and an HTTPRoute, and what of the other one is kept.
func TestWayIn(t *testing.T) {
	t.Parallel()
	gateway := &v1.GatewayReference{Name: "public", Namespace: "gateways"}
	const ingress, route = "Ingress", "HTTPRoute"
	cases := map[string]struct {
		gateway *v1.GatewayReference
		class   *string
		cluster Cluster
		has     []string
		// The object kept stays until another one is ready.
		kept, until, note, unserved string
	}{
		"no Gateway":                           {has: []string{ingress}},
		"no Gateway, HTTPRoutes are served":    {cluster: Cluster{HTTPRoutes: true}, has: []string{ingress}, kept: route, until: ingress},
		"no Gateway, HTTPRoutes may be served": {cluster: Cluster{HTTPRoutesUnknown: true}, has: []string{ingress}},
		"a Gateway":                            {gateway: gateway, cluster: Cluster{HTTPRoutes: true}, has: []string{route}, kept: ingress, until: route},
		"a Gateway and a class":                {gateway: gateway, class: new("nginx"), cluster: Cluster{HTTPRoutes: true}, has: []string{route}, kept: ingress, until: route},
		"a Gateway, not served":                {gateway: gateway, kept: ingress, until: route, unserved: unservedHTTPRoutes},
		"a Gateway and a class, not served":    {gateway: gateway, class: new("nginx"), has: []string{ingress}, note: noteIngressInstead},
		"a Gateway, not known yet":             {gateway: gateway, cluster: Cluster{HTTPRoutesUnknown: true}, kept: ingress, until: route, note: noteHTTPRoutesUnknown},
		"a Gateway and a class, not known yet": {gateway: gateway, class: new("nginx"), cluster: Cluster{HTTPRoutesUnknown: true}, kept: ingress, until: route, note: noteHTTPRoutesUnknown},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := sampleShop(t)
			app.Spec.Ingress.GatewayRef, app.Spec.Ingress.ClassName = c.gateway, c.class
			components, err := EcommerceApp(app, c.cluster)
			if err != nil {
				t.Fatal(err)
			}
			got := components[3]
			if diff := cmp.Diff(c.has, waysIn(got.Objects)); diff != "" {
				t.Errorf("it has (-want +got):\n%s", diff)
			}
			if kept, until := keeps(got.Fallbacks); kept != c.kept || until != c.until {
				t.Errorf("it keeps %q until %q is ready, want %q until %q", kept, until, c.kept, c.until)
			}
			if got.Note != c.note || got.Unserved != c.unserved {
				t.Errorf("note %q, unserved %q", got.Note, got.Unserved)
			}
		})
	}
}

// keeps returns the kind of the object that is kept as it is, and the kind of its replacement.
func keeps(fallbacks []component.Fallback) (kept, until string) {
	for _, f := range fallbacks {
		if f.Objects[0].Once && len(f.Objects) == 1 {
			kept, until = strings.Join(waysIn(f.Objects), " "), f.Until.Kind
		}
	}
	return kept, until
}

// waysIn returns the kinds of the objects that admit requests from outside.
func waysIn(objects []component.Object) []string {
	var kinds []string
	for _, o := range objects {
		if kind := o.Resource.GetObjectKind().GroupVersionKind().Kind; kind == "Ingress" || kind == "HTTPRoute" {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// TestRoute checks that an HTTPRoute leads to the login, if there is one, and names the Gateway in full.
func TestRoute(t *testing.T) {
	t.Parallel()
	app := sampleShop(t)
	app.Spec.Ingress = v1.Ingress{GatewayRef: &v1.GatewayReference{Name: "public"}}
	for _, login := range []bool{true, false} {
		app.Spec.Security.Authentication.Enabled = login
		components, err := EcommerceApp(app, Cluster{HTTPRoutes: true})
		if err != nil {
			t.Fatal(err)
		}
		objects := components[3].Objects
		i := slices.IndexFunc(objects, func(o component.Object) bool {
			return o.Resource.GetObjectKind().GroupVersionKind().Kind == "HTTPRoute"
		})
		route, ok := objects[i].Resource.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("it is a %T", objects[i].Resource)
		}
		backend := "my-ecommerce-app-frontend"
		if login {
			backend = "my-ecommerce-app-oauth2-proxy"
		}
		want := map[string]any{
			"parentRefs": []any{map[string]any{
				"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": app.Namespace, "name": "public",
			}},
			"rules": []any{map[string]any{
				"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}},
				"backendRefs": []any{map[string]any{"group": "", "kind": "Service", "name": backend, "port": int64(80), "weight": int64(1)}},
			}},
		}
		if diff := cmp.Diff(want, route.Object["spec"]); diff != "" {
			t.Errorf("login %t (-want +got):\n%s", login, diff)
		}
	}
}
