package fleettest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Denial is the message with which the policy of Deny answers.
const Denial = "denied by the test"

// Deny creates a ValidatingAdmissionPolicy that denies to create objects of the trial's kind
// in the trial's namespace, and returns when it is in force. The API server answers 422. Lift
// ends it and returns when it is not in force anymore; the end of the test does so as well.
// The trial must be valid, and is never created.
func Deny(t testing.TB, c client.Client, trial client.Object) (lift func()) {
	t.Helper()
	policy, binding, err := newPolicy(c, trial)
	if err != nil {
		t.Fatal(err)
	}
	denied := func(want bool) func(context.Context) error {
		return func(ctx context.Context) error {
			object, _ := trial.DeepCopyObject().(client.Object)
			err := c.Create(ctx, object, client.DryRunAll)
			if apierrors.IsInvalid(err) != want {
				return errors.Join(err, fmt.Errorf("creation is denied: %t, want %t", !want, want))
			}
			return nil
		}
	}
	if err := c.Create(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	binding.Name, binding.Spec.PolicyName = policy.Name, policy.Name
	if err := c.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	remove := sync.OnceValue(func() error {
		ctx := context.WithoutCancel(t.Context())
		return errors.Join(c.Delete(ctx, binding), c.Delete(ctx, policy))
	})
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Errorf("removing the policy: %v", err)
		}
	})
	Eventually(t, "the policy to be in force", denied(true))
	return func() {
		t.Helper()
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		Eventually(t, "the policy to be lifted", denied(false))
	}
}

// newPolicy returns the policy and a binding that does not name it yet.
func newPolicy(c client.Client, trial client.Object) (*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding, error) {
	kind, err := c.GroupVersionKindFor(trial)
	if err != nil {
		return nil, nil, fmt.Errorf("finding the kind of the trial: %w", err)
	}
	mapping, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, nil, fmt.Errorf("finding the resource of the trial: %w", err)
	}
	resource := mapping.Resource
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{GenerateName: "no-" + resource.Resource + "-"}}
	policy.Spec = admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{resource.Group}, APIVersions: []string{resource.Version}, Resources: []string{resource.Resource},
				},
			}}},
		},
		Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: Denial}},
	}
	if namespace := trial.GetNamespace(); namespace != "" {
		policy.Spec.MatchConstraints.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
	}}
	return policy, binding, nil
}
