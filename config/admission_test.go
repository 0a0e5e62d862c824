package config

import (
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// TestMemberPolicies checks that each policy of a member is in force, and is about the account of the hub
// that kubectl shopfleet join creates, or about definitions.
func TestMemberPolicies(t *testing.T) {
	objects, err := MemberPolicies()
	if err != nil {
		t.Fatal(err)
	}
	policies, bound := map[string]*admissionv1.ValidatingAdmissionPolicy{}, map[string]bool{}
	for _, object := range objects {
		if object.GetLabels()[MemberPolicyLabel] == "" {
			t.Errorf("%s %s does not have the label %s, by which a later version finds it", object.GetKind(), object.GetName(), MemberPolicyLabel)
		}
		if object.GetKind() == "ValidatingAdmissionPolicy" {
			policy := &admissionv1.ValidatingAdmissionPolicy{}
			as(t, object, policy)
			policies[policy.Name] = policy
			continue
		}
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
		as(t, object, binding)
		bound[binding.Spec.PolicyName] = slices.Contains(binding.Spec.ValidationActions, admissionv1.Deny)
	}
	for name, policy := range policies {
		if !bound[name] || *policy.Spec.FailurePolicy != admissionv1.Fail {
			t.Errorf("%s is not in force", name)
		}
		if policy.Spec.ParamKind != nil {
			t.Errorf("%s has parameters: when their kind is not served, it denies the writes of everybody", name)
		}
	}
	const account = "request.userInfo.username == 'system:serviceaccount:" + Namespace + ":" + HubServiceAccount + "'"
	for _, name := range []string{"shopfleet-hub-account", "shopfleet-hub-account-cluster"} {
		policy := policies[name]
		if policy == nil {
			t.Fatalf("no policy %s", name)
		}
		if c := policy.Spec.MatchConditions; len(c) != 1 || strings.TrimSpace(c[0].Expression) != account {
			t.Errorf("%s is about %v, want %s alone", name, c, account)
		}
	}
	if variable := policies["shopfleet-hub-account"].Spec.Variables[0].Expression; !strings.Contains(variable, "'"+ReservedLabel+"'") {
		t.Errorf("the label %s does not reserve a namespace: %s", ReservedLabel, variable)
	}
}
