package aggregate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func reached(addresses ...string) func(*Cluster) {
	return func(c *Cluster) { c.Copy.Status.Addresses = addresses }
}

// addressesOf returns the addresses of each cluster that has some.
func addressesOf(status v1.EcommerceAppStatus) map[string][]string {
	all := map[string][]string{}
	for _, c := range status.Clusters {
		if len(c.Addresses) > 0 {
			all[c.Name] = c.Addresses
		}
	}
	return all
}

// TestAddresses checks that the entry of a cluster has the addresses of the copy, as last observed and
// no others.
func TestAddresses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(strings.Repeat("a", 60)+".", 3) + "test"
	both := input(member("a", running, reached("lb.example.test", "192.0.2.1")), member("b", running, reached("192.0.2.2")))
	for name, tt := range map[string]struct {
		in   Input
		want map[string][]string
	}{
		"one each":              {both, map[string][]string{"a": {"192.0.2.1", "lb.example.test"}, "b": {"192.0.2.2"}}},
		"a change":              {with(after(both, 1), "b", reached("192.0.2.3")), map[string][]string{"a": {"192.0.2.1", "lb.example.test"}, "b": {"192.0.2.3"}}},
		"the address is gone":   {with(after(both, 1), "a", reached()), map[string][]string{"b": {"192.0.2.2"}}},
		"out of reach":          {with(after(both, 1), "b", lost), map[string][]string{"a": {"192.0.2.1", "lb.example.test"}, "b": {"192.0.2.2"}}},
		"leaving":               {unchosen(after(both, 1)), map[string][]string{"a": {"192.0.2.1", "lb.example.test"}}},
		"neither IP nor name":   {with(both, "a", reached("not a name", "")), map[string][]string{"b": {"192.0.2.2"}}},
		"longer than there fit": {with(both, "a", reached("192.0.2.1", "a"+long, "b"+long)), map[string][]string{"a": {"192.0.2.1", "a" + long}, "b": {"192.0.2.2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Compute(tt.in)
			if diff := cmp.Diff(tt.want, addressesOf(got)); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
			checkSettled(t, tt.in, got)
		})
	}
	var many []Cluster
	for i := range maxDetailed + 1 {
		many = append(many, member(fmt.Sprintf("c%03d", i), running, reached("192.0.2.1", long)))
	}
	if got := Compute(input(many...)).Clusters[7].Addresses; !cmp.Equal(got, []string{"192.0.2.1"}) {
		t.Errorf("one of many clusters has %q", got)
	}
}

// TestCertificateTrusted checks that an application has the condition while a cluster that it is placed
// on has a self-signed certificate in place of one of its issuer.
func TestCertificateTrusted(t *testing.T) {
	t.Parallel()
	selfSigned := func(c *Cluster) {
		c.Copy.Status.Conditions = append(c.Copy.Status.Conditions, metav1.Condition{Type: v1.ConditionCertificateTrusted, Status: metav1.ConditionFalse})
	}
	in := with(everywhere(), "a", selfSigned)
	const fix = ", or set spec.security.tls.secretRef in place of issuerRef"
	one := "the certificate is self-signed in 1 of 2 clusters: install cert-manager in a" + fix
	for name, tt := range map[string]struct {
		in   Input
		want string
	}{
		"nowhere":                {everywhere(), ""},
		"in one":                 {in, one},
		"in both":                {with(in, "b", selfSigned), "the certificate is self-signed in 2 of 2 clusters: install cert-manager in a, b" + fix},
		"while out of reach":     {with(after(in, 1), "a", lost), one},
		"until it is installed":  {with(after(in, 1), "a", running), ""},
		"in the one that leaves": {unchosen(after(with(everywhere(), "b", selfSigned), 1)), ""},
		"being deleted":          {deleting(after(in, 1)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Compute(tt.in)
			c := meta.FindStatusCondition(got.Conditions, v1.ConditionCertificateTrusted)
			switch {
			case c == nil && tt.want != "", c != nil && (c.Message != tt.want || c.Status != metav1.ConditionFalse || c.Reason != v1.ReasonSelfSignedCertificate):
				t.Errorf("the condition is %+v, want %q", c, tt.want)
			}
			checkSettled(t, tt.in, got)
		})
	}
}

// TestWithinBytes checks that addresses fit up to the limit, each with a separator.
func TestWithinBytes(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{3: 0, 4: 1, 7: 1, 8: 2, 9: 2} {
		if got := len(withinBytes([]string{"abc", "abc"}, limit)); got != want {
			t.Errorf("%d bytes have %d addresses, want %d", limit, got, want)
		}
	}
}
