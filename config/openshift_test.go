package config

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
)

// TestResolvers checks that the pods reach resolvers at the ports that they have: those of OpenShift listen at 5353.
func TestResolvers(t *testing.T) {
	for _, set := range []Set{Hub, Spoke} {
		policy := &networkingv1.NetworkPolicy{}
		as(t, installed(t, set, Installation{})["NetworkPolicy/shopfleet-"+string(set)], policy)
		allowed := map[string]bool{}
		for _, rule := range policy.Spec.Egress {
			for _, port := range rule.Ports {
				allowed[string(*port.Protocol)+" "+port.Port.String()] = len(rule.To) == 0
			}
		}
		for _, want := range []string{"UDP 53", "TCP 53", "UDP 5353", "TCP 5353"} {
			if !allowed[want] {
				t.Errorf("%s: the policy does not allow %s anywhere: %v", set, want, allowed)
			}
		}
	}
}
