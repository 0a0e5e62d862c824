package permissions

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/shopfleet/shopfleet/config"
)

type attributes = authorizationv1.ResourceAttributes

func TestFromRules(t *testing.T) {
	got := FromRules([]rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"statefulsets"}, Verbs: []string{"get", "create"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}},
		{APIGroups: []string{"apps"}, Resources: []string{"statefulsets", "statefulsets/scale"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{"kube-system"}, Verbs: []string{"get"}},
		{NonResourceURLs: []string{"/version"}, Verbs: []string{"get"}},
	})
	want := []attributes{
		{Resource: "events", Verb: "create"},
		{Resource: "namespaces", Verb: "get", Name: "kube-system"},
		{Group: "apps", Resource: "statefulsets", Verb: "create"},
		{Group: "apps", Resource: "statefulsets", Verb: "get"},
		{Group: "apps", Resource: "statefulsets", Subresource: "scale", Verb: "get"},
		{Group: "events.k8s.io", Resource: "events", Verb: "create"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
}

func TestCovers(t *testing.T) {
	rule := func(verbs, groups, resources, names string) authorizationv1.ResourceRule {
		list := func(s string) []string {
			if s == "-" {
				return nil
			}
			return []string{s}
		}
		return authorizationv1.ResourceRule{
			Verbs: list(verbs), APIGroups: list(groups), Resources: list(resources), ResourceNames: list(names),
		}
	}
	get := attributes{Group: "apps", Resource: "deployments", Verb: "get"}
	scale := attributes{Group: "apps", Resource: "deployments", Subresource: "scale", Verb: "get"}
	named := attributes{Resource: "namespaces", Verb: "get", Name: "kube-system"}
	tests := map[string]struct {
		rule       authorizationv1.ResourceRule
		permission attributes
		want       bool
	}{
		"same":                   {rule("get", "apps", "deployments", "-"), get, true},
		"everything":             {rule("*", "*", "*", "-"), scale, true},
		"other verb":             {rule("list", "apps", "deployments", "-"), get, false},
		"other group":            {rule("get", "", "deployments", "-"), get, false},
		"other resource":         {rule("get", "apps", "replicasets", "-"), get, false},
		"resource, not its part": {rule("get", "apps", "deployments", "-"), scale, false},
		"part":                   {rule("get", "apps", "deployments/scale", "-"), scale, true},
		"part of all":            {rule("get", "apps", "*/scale", "-"), scale, true},
		"part, not the whole":    {rule("get", "apps", "*/scale", "-"), get, false},
		"one name of all":        {rule("get", "", "namespaces", "-"), named, true},
		"the name":               {rule("get", "", "namespaces", "kube-system"), named, true},
		"another name":           {rule("get", "", "namespaces", "default"), named, false},
		"one name is not all":    {rule("get", "apps", "deployments", "a"), get, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := covers(test.rule, test.permission); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestMissing plays an API server whose authorizer hasFields more than its rules say, as
// webhooks do.
func TestMissing(t *testing.T) {
	client := fake.NewClientset()
	asked := 0
	client.PrependReactor("create", "selfsubjectrulesreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &authorizationv1.SelfSubjectRulesReview{Status: authorizationv1.SubjectRulesReviewStatus{
			ResourceRules: []authorizationv1.ResourceRule{{
				Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"services"},
			}},
		}}, nil
	})
	client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		asked++
		create, ok := action.(clienttesting.CreateAction)
		if !ok {
			return false, nil, nil
		}
		review, ok := create.GetObject().(*authorizationv1.SelfSubjectAccessReview)
		if !ok {
			return false, nil, nil
		}
		review.Status.Allowed = review.Spec.ResourceAttributes.Verb == "watch"
		return true, review, nil
	})
	required := []attributes{
		{Resource: "services", Verb: "create"},
		{Resource: "services", Verb: "get"},
		{Resource: "services", Verb: "list"},
		{Resource: "services", Verb: "watch"},
	}
	got, err := Missing(t.Context(), client.AuthorizationV1(), required)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]attributes{{Resource: "services", Verb: "create"}}, got); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if asked != 2 {
		t.Errorf("asked %d single questions, want 2: what the rules show needs none", asked)
	}
}

// TestUnevaluated checks that a denial without an error is a missing permission, and one because an authorizer failed
// is not.
func TestUnevaluated(t *testing.T) {
	for name, tt := range map[string]struct {
		status      authorizationv1.SubjectAccessReviewStatus
		unevaluated bool
	}{
		"no opinion":         {authorizationv1.SubjectAccessReviewStatus{}, false},
		"authorizer failed":  {authorizationv1.SubjectAccessReviewStatus{EvaluationError: "no answer"}, true},
		"denied by another":  {authorizationv1.SubjectAccessReviewStatus{Denied: true, EvaluationError: "no answer"}, false},
		"allowed by another": {authorizationv1.SubjectAccessReviewStatus{Allowed: true, EvaluationError: "no answer"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			client.PrependReactor("create", "selfsubjectrulesreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, &authorizationv1.SelfSubjectRulesReview{}, nil
			})
			client.PrependReactor("create", "selfsubjectaccessreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, &authorizationv1.SelfSubjectAccessReview{Status: tt.status}, nil
			})
			missing, err := Missing(t.Context(), client.AuthorizationV1(), []attributes{{Resource: "services", Verb: "get"}})
			want := 1
			if tt.unevaluated || tt.status.Allowed {
				want = 0
			}
			if errors.Is(err, ErrUnevaluated) != tt.unevaluated || len(missing) != want {
				t.Errorf("missing %v, %v", missing, err)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	many := make([]attributes, 0, 12)
	for n := range 12 {
		many = append(many, attributes{Resource: fmt.Sprintf("r%02d", 11-n), Verb: "get"})
	}
	tests := map[string]struct {
		permissions []attributes
		want        string
	}{
		"one core": {[]attributes{{Resource: "services", Verb: "patch"}}, "patch services"},
		"sorted": {
			[]attributes{{Resource: "services", Verb: "patch"}, {Group: "apps", Resource: "statefulsets", Verb: "create"}},
			"create statefulsets.apps, patch services",
		},
		"part": {[]attributes{{Group: "apps", Resource: "deployments", Subresource: "scale", Verb: "get"}}, "get deployments.apps/scale"},
		"name": {[]attributes{{Resource: "namespaces", Verb: "get", Name: "kube-system"}}, "get namespaces kube-system"},
		"many": {
			many, "get r00, get r01, get r02, get r03, get r04, get r05, get r06, get r07, get r08, get r09 and 2 more",
		},
		"ten": {many[2:], "get r00, get r01, get r02, get r03, get r04, get r05, get r06, get r07, get r08, get r09"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Describe(test.permissions); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestShippedPermissionsCoverTheProbe checks that the required permissions contain those of the probe, which comes
// first.
func TestShippedPermissionsCoverTheProbe(t *testing.T) {
	rules, err := config.Member.Rules()
	if err != nil {
		t.Fatal(err)
	}
	shipped := FromRules(rules)
	for _, needed := range []attributes{
		{Resource: "namespaces", Verb: "get"},
		{Resource: "nodes", Verb: "list"},
		{Resource: "nodes", Verb: "watch"},
		{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Verb: "get"},
		{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Verb: "patch", Name: "ecommerceapps.ecommerce.io"},
	} {
		found := false
		for _, p := range shipped {
			found = found || p == needed
		}
		if !found {
			t.Errorf("%s is not granted", name(needed))
		}
	}
}

// TestReads checks that informers get, list and watch.
func TestReads(t *testing.T) {
	for verb, want := range map[string]bool{"get": true, "list": true, "watch": true, "create": false, "patch": false, "delete": false} {
		if got := Reads(attributes{Verb: verb, Resource: "pods"}); got != want {
			t.Errorf("%s: %t, want %t", verb, got, want)
		}
	}
}
