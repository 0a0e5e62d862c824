package hub_test

import (
	"fmt"
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testAddresses gives the Ingress of one member addresses, as its controller does, and takes them
// away.
func (s *suite) testAddresses(t *testing.T) {
	t.Helper()
	member := s.Members["eu-1"]
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: s.shop.Namespace, Name: s.shop.Name + "-ingress"}}
	for _, points := range [][]networkingv1.IngressLoadBalancerIngress{
		{{Hostname: "lb.example.test"}, {IP: "192.0.2.1"}}, {{IP: "192.0.2.2"}}, nil,
	} {
		if err := member.Get(t.Context(), client.ObjectKeyFromObject(ingress), ingress); err != nil {
			t.Fatal(err)
		}
		before := ingress.DeepCopy()
		ingress.Status.LoadBalancer.Ingress = points
		if err := member.Status().Patch(t.Context(), ingress, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, p := range points {
			want = append(want, p.IP+p.Hostname)
		}
		slices.Sort(want)
		s.AwaitApp(t, s.shop, fmt.Sprintf("the addresses %q", want), func(status *v1.EcommerceAppStatus) error {
			for _, name := range memberNames() {
				expected := want
				if name != "eu-1" {
					expected = nil
				}
				if got := framework.Cluster(status, name).Addresses; !slices.Equal(got, expected) {
					return fmt.Errorf("%s has %q", name, got)
				}
			}
			return nil
		})
	}
}
