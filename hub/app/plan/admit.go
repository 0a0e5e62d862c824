package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

var (
	errPolicyMissing = errors.New("the admission policy " + config.PlanPolicy + " or its binding is missing, or newer than this Plan, " +
		"so that its requester may be made up: install the hub again with kubectl shopfleet install hub, and create another Plan")
	errOtherKind      = errors.New("spec.manifest is not an EcommerceApp of ecommerce.io/v1")
	errOtherNamespace = errors.New("the EcommerceApp of spec.manifest has another namespace than the Plan")
	errNoName         = errors.New("the EcommerceApp of spec.manifest has no name")
	errOutOfBounds    = errors.New("spec.manifest has numbers of replicas or clusters, or weights, that the API server would reject")
	errMore           = errors.New("spec.manifest has more than one object")
	errDeleting       = errors.New("the EcommerceApp is being deleted")
)

// refuse returns the error of a Plan that is refused.
func refuse(reason string, err error) error { return &apierror.SpecError{Reason: reason, Err: err} }

// checkPolicy refuses a Plan unless the API server compared its requester with the user who created
// it: the policy and its binding exist, and existed before.
func (r *Reconciler) checkPolicy(ctx context.Context, plan *v1.Plan) error {
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	for _, object := range []client.Object{policy, binding} {
		err := r.reader.Get(ctx, client.ObjectKey{Name: config.PlanPolicy}, object)
		if apierrors.IsNotFound(err) {
			return refuse(v1.ReasonPolicyMissing, errPolicyMissing)
		}
		if err != nil {
			return fmt.Errorf("reading the admission policy of Plans: %w", err)
		}
	}
	if !enforced(policy, binding, plan.CreationTimestamp) {
		return refuse(v1.ReasonPolicyMissing, errPolicyMissing)
	}
	return nil
}

// enforced reports whether a policy and its binding deny requests for all Plans, at a time.
func enforced(policy *admissionregistrationv1.ValidatingAdmissionPolicy, binding *admissionregistrationv1.ValidatingAdmissionPolicyBinding, at metav1.Time) bool {
	fails := policy.Spec.FailurePolicy == nil || *policy.Spec.FailurePolicy == admissionregistrationv1.Fail
	return fails && len(policy.Spec.Validations) > 0 && len(policy.Spec.MatchConditions) == 0 && policy.Spec.ParamKind == nil &&
		binding.Spec.PolicyName == policy.Name && binding.Spec.MatchResources == nil &&
		slices.Contains(binding.Spec.ValidationActions, admissionregistrationv1.Deny) &&
		!at.Before(&policy.CreationTimestamp) && !at.Before(&binding.CreationTimestamp)
}

// decode returns the application of a Plan. Unknown fields are an error.
func decode(plan *v1.Plan) (*v1.EcommerceApp, error) {
	app := &v1.EcommerceApp{}
	decoder := json.NewDecoder(bytes.NewReader([]byte(plan.Spec.Manifest)))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(app)
	switch {
	case err != nil:
		err = fmt.Errorf("decoding spec.manifest: %w", err)
	case decoder.More():
		err = errMore
	case app.GroupVersionKind() != v1.GroupVersion.WithKind("EcommerceApp"):
		err = errOtherKind
	case app.Namespace != plan.Namespace:
		err = errOtherNamespace
	case app.Name == "":
		err = errNoName
	case outOfBounds(&app.Spec):
		err = errOutOfBounds
	default:
		return app, nil
	}
	return nil, refuse(v1.ReasonInvalidSpec, err)
}

// outOfBounds reports whether a spec has numbers that no API server has validated, and that decisions count
// to. The plugin sends what the hub's API server has accepted.
func outOfBounds(spec *v1.EcommerceAppSpec) bool {
	const most = 1000
	numbers := []int32{spec.Placement.MaxClusters}
	for _, n := range []*int32{spec.Replicas, spec.Frontend.Replicas, spec.Backend.Replicas} {
		if n != nil {
			numbers = append(numbers, *n)
		}
	}
	for _, w := range slices.Concat(spec.Placement.Preferences, spec.Placement.Replicas.Weights) {
		numbers = append(numbers, w.Weight)
	}
	for _, s := range spec.Placement.Spread {
		numbers = append(numbers, s.MinDomains, s.MaxDomains, s.MaxClustersPerDomain, s.MaxSkew)
	}
	return slices.ContainsFunc(numbers, func(n int32) bool { return n < 0 || n > most })
}

// authorize refuses a Plan whose requester may not apply the application.
func (r *Reconciler) authorize(ctx context.Context, plan *v1.Plan, name string, exists bool) error {
	verbs := []string{"create"}
	if exists {
		verbs = []string{"patch", "update"}
	}
	for _, verb := range verbs {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: plan.Spec.Requester.Username, UID: plan.Spec.Requester.UID, Groups: plan.Spec.Requester.Groups,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Group: v1.GroupName, Version: v1.GroupVersion.Version, Resource: "ecommerceapps", Namespace: plan.Namespace, Name: name,
			},
		}}
		if err := r.client.Create(ctx, review); err != nil {
			return fmt.Errorf("reviewing the access of the requester: %w", err)
		}
		if review.Status.Allowed && !review.Status.Denied {
			return nil
		}
	}
	return refuse(v1.ReasonForbidden, fmt.Errorf("%w: user %q cannot %s EcommerceApp %q in namespace %q",
		errForbidden, plan.Spec.Requester.Username, verbs[0], name, plan.Namespace))
}

// errForbidden means that the requester may not apply what is planned.
var errForbidden = errors.New("forbidden")

// over returns a planned application as it would be stored on the hub, where live is the present one
// or nil. A new one gets a UID that no other one has.
func over(live, planned *v1.EcommerceApp, uid types.UID) (*v1.EcommerceApp, error) {
	if live == nil {
		return &v1.EcommerceApp{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: planned.Namespace, Name: planned.Name, UID: uid, Generation: 1,
				Labels: planned.Labels, Annotations: planned.Annotations,
			},
			Spec: planned.Spec,
		}, nil
	}
	if live.Ending() {
		return nil, refuse(v1.ReasonDeleting, errDeleting)
	}
	app := live.DeepCopy()
	app.Labels, app.Annotations = planned.Labels, planned.Annotations
	if !equality.Semantic.DeepEqual(app.Spec, planned.Spec) {
		app.Generation++
	}
	app.Spec = planned.Spec
	return app, nil
}
