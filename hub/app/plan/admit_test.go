package plan

import (
	"errors"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	const head = `{"apiVersion":"ecommerce.io/v1","kind":"EcommerceApp","metadata":{"namespace":"production","name":"shop"}`
	for name, tt := range map[string]struct {
		manifest string
		want     error
	}{
		"valid":             {head + `,"spec":{"image":"shop:v1"}}`, nil},
		"another namespace": {`{"apiVersion":"ecommerce.io/v1","kind":"EcommerceApp","metadata":{"namespace":"default","name":"shop"}}`, errOtherNamespace},
		"no namespace":      {`{"apiVersion":"ecommerce.io/v1","kind":"EcommerceApp","metadata":{"name":"shop"}}`, errOtherNamespace},
		"no name":           {`{"apiVersion":"ecommerce.io/v1","kind":"EcommerceApp","metadata":{"namespace":"production"}}`, errNoName},
		"another kind":      {`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"production","name":"shop"}}`, errOtherKind},
		"too many replicas": {head + `,"spec":{"image":"shop:v1","replicas":2147483647}}`, errOutOfBounds},
		"two":               {head + `}` + head + `}`, errMore},
		"none":              {`[]`, nil},
		"a typo":            {head + `,"spec":{"imag":"shop:v1"}}`, nil},
		"no JSON":           {`image: shop:v1`, nil},
	} {
		plan := &v1.Plan{ObjectMeta: metav1.ObjectMeta{Namespace: "production"}, Spec: v1.PlanSpec{Manifest: tt.manifest}}
		app, err := decode(plan)
		if name == "valid" {
			if err != nil || app.Spec.Image != "shop:v1" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		refused, is := errors.AsType[*apierror.SpecError](err)
		if !is || refused.Reason != v1.ReasonInvalidSpec || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", name, err, tt.want)
		}
	}
}

func TestEnforced(t *testing.T) {
	t.Parallel()
	installed := metav1.NewTime(time.Unix(1000, 0))
	type edit func(*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding)
	for name, tt := range map[string]struct {
		edit edit
		at   int64
		want bool
	}{
		"installed": {func(*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
		}, 1000, true},
		"newer than the Plan": {func(*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
		}, 999, false},
		"warns": {func(_ *admissionregistrationv1.ValidatingAdmissionPolicy, b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
			b.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Warn}
		}, 1000, false},
		"for some namespaces": {func(_ *admissionregistrationv1.ValidatingAdmissionPolicy, b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
			b.Spec.MatchResources = &admissionregistrationv1.MatchResources{}
		}, 1000, false},
		"of another policy": {func(_ *admissionregistrationv1.ValidatingAdmissionPolicy, b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
			b.Spec.PolicyName = "other"
		}, 1000, false},
		"ignores failures": {func(p *admissionregistrationv1.ValidatingAdmissionPolicy, _ *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
			p.Spec.FailurePolicy = new(admissionregistrationv1.Ignore)
		}, 1000, false},
		"for some users": {func(p *admissionregistrationv1.ValidatingAdmissionPolicy, _ *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
			p.Spec.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "some"}}
		}, 1000, false},
		"has no rules": {func(p *admissionregistrationv1.ValidatingAdmissionPolicy, _ *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
			p.Spec.Validations = nil
		}, 1000, false},
	} {
		policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: config.PlanPolicy, CreationTimestamp: installed},
			Spec:       admissionregistrationv1.ValidatingAdmissionPolicySpec{Validations: []admissionregistrationv1.Validation{{Expression: "false"}}},
		}
		binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: installed},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: config.PlanPolicy, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		}
		tt.edit(policy, binding)
		if got := enforced(policy, binding, metav1.NewTime(time.Unix(tt.at, 0))); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}

func TestOver(t *testing.T) {
	t.Parallel()
	planned := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "production", Name: "shop", Annotations: map[string]string{"a": "1"}}, Spec: v1.EcommerceAppSpec{Image: "shop:v2"}}
	fresh, err := over(nil, planned, "plan-uid")
	if err != nil || fresh.UID != "plan-uid" || fresh.Generation != 1 || fresh.Spec.Image != "shop:v2" {
		t.Errorf("a new application: %+v, %v", fresh, err)
	}
	live := planned.DeepCopy()
	live.UID, live.Generation, live.Finalizers, live.Annotations = "app-uid", 4, []string{v1.HubFinalizer}, nil
	live.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1"}}
	same, err := over(live, planned, "plan-uid")
	if err != nil || same.UID != "app-uid" || same.Generation != 4 || same.Annotations["a"] != "1" || len(same.Status.Clusters) != 1 || len(same.Finalizers) != 1 {
		t.Errorf("the same spec: %+v, %v", same, err)
	}
	live.Spec.Image = "shop:v1"
	edited, err := over(live, planned, "plan-uid")
	if err != nil || edited.Generation != 5 || edited.Spec.Image != "shop:v2" || live.Spec.Image != "shop:v1" {
		t.Errorf("an edit: %+v, %v", edited, err)
	}
	live.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	if _, err := over(live, planned, "plan-uid"); !errors.Is(err, errDeleting) {
		t.Errorf("a deleted application: %v", err)
	}
}
