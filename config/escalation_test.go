package config

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// TestNothingEscalates forbids permissions that allow privilege escalation or data loss.
func TestNothingEscalates(t *testing.T) {
	for _, set := range []Set{Hub, Member, Agent, Spoke} {
		forbidden := map[string][]string{
			"persistentvolumes": {"delete", "deletecollection"},
			"namespaces":        {"patch", "update", "delete", "deletecollection"},
			"storageclasses":    {"delete", "deletecollection"},
		}
		if set == Hub {
			// In a member they are replaced by Restores, and deleted by spec.deletion.volumes.
			forbidden["persistentvolumeclaims"] = []string{"delete", "deletecollection"}
		}
		rules, err := set.Rules()
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range rules {
			banned := []string{"escalate", "bind", "impersonate", "deletecollection"}
			for _, resource := range rule.Resources {
				banned = append(banned, forbidden[resource]...)
			}
			if both(rule.Verbs, banned) {
				t.Errorf("%s: verbs %v on %v", set, rule.Verbs, rule.Resources)
			}
			if slices.Contains(rule.APIGroups, rbacv1.GroupName) {
				t.Errorf("%s: rule on %v", set, rule.Resources)
			}
			// No admission policy is about these kinds, so that only a role keeps an account from its own.
			if slices.Contains(rule.APIGroups, "admissionregistration.k8s.io") && both(rule.Verbs, []string{"create", "patch", "update", "delete"}) {
				t.Errorf("%s: verbs %v on %v", set, rule.Verbs, rule.Resources)
			}
		}
	}
}
