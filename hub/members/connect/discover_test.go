package connect

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// TestLacks checks that permissions are needed for what every cluster serves, and for what this one serves.
func TestLacks(t *testing.T) {
	facts := ServerFacts{Capabilities: []string{CapabilityCertManager, CapabilityIngress}}
	for group, want := range map[string]bool{"": false, "apps": false, "cert-manager.io": false, "gateway.networking.k8s.io": true} {
		if got := facts.Lacks(authorizationv1.ResourceAttributes{Group: group, Verb: "list"}); got != want {
			t.Errorf("group %q: %t, want %t", group, got, want)
		}
	}
}
