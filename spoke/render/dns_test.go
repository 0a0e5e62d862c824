package render

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestEdgeAnnotations checks that external-dns creates a name for each cluster, and records of the
// shared one that do not collide, or none.
func TestEdgeAnnotations(t *testing.T) {
	t.Parallel()
	type annotations = map[string]string
	const now, former = "external-dns.kubernetes.io/", "external-dns.alpha.kubernetes.io/"
	own := annotations{
		now + "hostname": "eu-1.shop.example.com", now + "ingress-hostname-source": "annotation-only",
		former + "hostname": "eu-1.shop.example.com", former + "ingress-hostname-source": "annotation-only",
	}
	beside := maps.Clone(own)
	beside["a"] = "b"
	none, route53 := &v1.ExternalDNS{SharedHost: v1.SharedHostNone}, &v1.ExternalDNS{SharedHost: v1.SharedHostRoute53}
	for name, tt := range map[string]struct {
		dns     *v1.ExternalDNS
		given   annotations
		cluster string
		want    annotations
	}{
		"absent":                {nil, annotations{"a": "b"}, "eu-1", annotations{"a": "b"}},
		"without a hub":         {route53, annotations{"a": "b"}, "", annotations{"a": "b"}},
		"by default":            {&v1.ExternalDNS{}, nil, "eu-1", own},
		"none":                  {none, annotations{"a": "b"}, "eu-1", beside},
		"none, over the user's": {none, annotations{former + "hostname": "other.example.com"}, "eu-1", own},
		"Route 53": {route53, annotations{"a": "b"}, "eu-1", annotations{
			"a": "b", now + "set-identifier": "eu-1", now + "aws-weight": "100", former + "set-identifier": "eu-1", former + "aws-weight": "100",
		}},
		"Route 53 with a policy": {route53, annotations{former + "aws-region": "eu-west-1"}, "eu-1", annotations{
			former + "aws-region": "eu-west-1", former + "set-identifier": "eu-1",
		}},
		"Route 53 with a weight": {route53, annotations{now + "aws-weight": "5", former + "aws-weight": "5"}, "eu-1", annotations{
			now + "aws-weight": "5", now + "set-identifier": "eu-1", former + "aws-weight": "5", former + "set-identifier": "eu-1",
		}},
		"Route 53 with the identifier of another": {route53, annotations{now + "set-identifier": "x"}, "eu-1", annotations{
			now + "set-identifier": "eu-1", now + "aws-weight": "100", former + "set-identifier": "eu-1", former + "aws-weight": "100",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := sampleShop(t)
			app.Spec.Ingress = v1.Ingress{Host: "shop.example.com", Annotations: tt.given, ExternalDNS: tt.dns}
			components, err := EcommerceApp(app, Cluster{Name: tt.cluster})
			if err != nil {
				t.Fatal(err)
			}
			got := all[*networkingv1.Ingress](components[3].Objects)[0].Annotations
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHosts checks that both names work: in the rules, in the certificate, and for the login.
func TestHosts(t *testing.T) {
	t.Parallel()
	app := everythingShop(t)
	app.Spec.Ingress.ExternalDNS = &v1.ExternalDNS{}
	for cluster, want := range map[string][]string{"eu-1": {"shop.example.com", "eu-1.shop.example.com"}, "": {"shop.example.com"}} {
		components, err := EcommerceApp(app, Cluster{Name: cluster, Certificates: true})
		if err != nil {
			t.Fatal(err)
		}
		objects := components[3].Objects
		ingress := all[*networkingv1.Ingress](objects)[0]
		var rules []string
		for _, rule := range ingress.Spec.Rules {
			rules = append(rules, rule.Host)
		}
		certificate := all[*unstructured.Unstructured](objects)[0]
		issued, _, err := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
		if err != nil {
			t.Fatal(err)
		}
		selfSigned := components[3].Fallbacks[0].Objects[0].Generate.TLS.DNSNames
		if diff := cmp.Diff([][]string{want, want, want, want}, [][]string{rules, ingress.Spec.TLS[0].Hosts, issued, selfSigned}); diff != "" {
			t.Errorf("cluster %q: rules, TLS, certificate, self-signed one (-want +got):\n%s", cluster, diff)
		}
		args := deployment(t, objects, "everything-oauth2-proxy").Spec.Template.Spec.Containers[0].Args
		fixed := slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--redirect-url=") })
		if fixed != (len(want) == 1) {
			t.Errorf("cluster %q: the login returns to one name: %t", cluster, fixed)
		}
	}
	app.Spec.Ingress.GatewayRef = &v1.GatewayReference{Name: "public"}
	components, err := EcommerceApp(app, Cluster{Name: "eu-1", HTTPRoutes: true})
	if err != nil {
		t.Fatal(err)
	}
	route := all[*unstructured.Unstructured](components[3].Objects)[0]
	hosts, _, err := unstructured.NestedStringSlice(route.Object, "spec", "hostnames")
	if err != nil || !slices.Equal(hosts, []string{"shop.example.com", "eu-1.shop.example.com"}) {
		t.Errorf("the route has %q (%v)", hosts, err)
	}
	if got := route.GetAnnotations()["external-dns.kubernetes.io/gateway-hostname-source"]; got != "annotation-only" {
		t.Errorf("the names of the route come from %q", got)
	}
}
