package preflight

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
)

type attributes = authorizationv1.ResourceAttributes

func TestPermissionsFrom(t *testing.T) {
	got := PermissionsFrom([]rbacv1.PolicyRule{
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

// TestUndecided: a denial without an error is an absence, one because an authorizer failed is
// not.
func TestUndecided(t *testing.T) {
	for name, tt := range map[string]struct {
		status    authorizationv1.SubjectAccessReviewStatus
		undecided bool
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
			if tt.undecided || tt.status.Allowed {
				want = 0
			}
			if errors.Is(err, ErrUndecided) != tt.undecided || len(missing) != want {
				t.Errorf("missing %v, %v", missing, err)
			}
		})
	}
}

// TestLacks: a permission is needed for what every cluster serves, and for what this one serves.
func TestLacks(t *testing.T) {
	facts := ServerFacts{Capabilities: []string{CapabilityCertManager, CapabilityIngress}}
	for group, want := range map[string]bool{"": false, "apps": false, "cert-manager.io": false, "gateway.networking.k8s.io": true} {
		if got := facts.Lacks(authorizationv1.ResourceAttributes{Group: group, Verb: "list"}); got != want {
			t.Errorf("group %q: %t, want %t", group, got, want)
		}
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
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Describe(test.permissions); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestShippedPermissionsCoverTheProbe: what the hub asks for must contain what it does
// before anything else.
func TestShippedPermissionsCoverTheProbe(t *testing.T) {
	rules, err := config.Member.Rules()
	if err != nil {
		t.Fatal(err)
	}
	shipped := PermissionsFrom(rules)
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

func node(providerID, region, zone string, ready bool) corev1.Node {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	labels := map[string]string{"other": "x"}
	if region != "" {
		labels[corev1.LabelTopologyRegion] = region
	}
	if zone != "" {
		labels[corev1.LabelTopologyZone] = zone
	}
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: zone, UID: "u", ResourceVersion: "7", Labels: labels,
			Annotations: map[string]string{"big": "x"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec: corev1.NodeSpec{ProviderID: providerID, PodCIDR: "10.0.0.0/24"},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("2Gi"),
				corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("1Gi"),
			},
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
				{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: metav1.Unix(5, 0)},
			},
			Images: []corev1.ContainerImage{{Names: []string{"a"}}},
		},
	}
}

// tainted returns a node that the cloud controller manager has not initialized.
func tainted(providerID string) corev1.Node {
	n := node(providerID, "", "", false)
	n.Spec.Taints = []corev1.Taint{
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
		{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule},
	}
	return n
}

func TestNodes(t *testing.T) {
	two := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("3"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("220"),
	}
	many := make([]corev1.Node, 0, 60)
	for n := range 60 {
		many = append(many, node("", "", fmt.Sprintf("z%02d", n), false))
	}
	tests := map[string]struct {
		nodes []corev1.Node
		want  NodeFacts
	}{
		"none": {nil, NodeFacts{}},
		"aws": {
			[]corev1.Node{
				node("aws:///eu-west-1b/i-2", "eu-west-1", "eu-west-1b", true),
				node("aws:///eu-west-1a/i-1", "eu-west-1", "eu-west-1a", true),
				node("aws:///eu-west-1a/i-3", "eu-west-1", "eu-west-1a", false),
			},
			NodeFacts{
				Provider: v1.ProviderAWS, Region: "eu-west-1", Zones: []string{"eu-west-1a", "eu-west-1b"},
				Nodes: 3, ReadyNodes: 2, Allocatable: two,
			},
		},
		"gcp":    {[]corev1.Node{node("gce://p/z/i", "", "", false)}, NodeFacts{Provider: v1.ProviderGCP, Nodes: 1}},
		"azure":  {[]corev1.Node{node("azure:///subscriptions/s", "", "", false)}, NodeFacts{Provider: v1.ProviderAzure, Nodes: 1}},
		"kind":   {[]corev1.Node{node("kind://docker/a", "", "", false)}, NodeFacts{Provider: v1.ProviderOther, Nodes: 1}},
		"no IDs": {[]corev1.Node{node("", "", "", false)}, NodeFacts{Provider: v1.ProviderOther, Nodes: 1}},
		"most have no ID yet": {
			[]corev1.Node{node("", "", "", false), node("aws://a", "a", "", false), node("", "", "", false)},
			NodeFacts{Provider: v1.ProviderAWS, Region: "a", Nodes: 3},
		},
		"none has an ID yet":                {[]corev1.Node{node("", "", "", false), tainted("")}, NodeFacts{Nodes: 2}},
		"an ID before the taint is removed": {[]corev1.Node{tainted("gce://b")}, NodeFacts{Provider: v1.ProviderGCP, Nodes: 1}},
		"most win": {
			[]corev1.Node{node("aws://a", "a", "", false), node("gce://b", "b", "", false), node("gce://b", "b", "", false)},
			NodeFacts{Provider: v1.ProviderGCP, Region: "b", Nodes: 3},
		},
		"a tie goes by name": {
			[]corev1.Node{node("gce://b", "b", "", false), node("aws://a", "a", "", false)},
			NodeFacts{Provider: v1.ProviderAWS, Region: "a", Nodes: 2},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Nodes(test.nodes), cmp.Transformer("empty", emptyAsNil)); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
	if got := Nodes(many).Zones; len(got) != maxZones || got[0] != "z00" {
		t.Errorf("%d zones, first %q", len(got), got[0])
	}
}

func emptyAsNil(s []string) string { return fmt.Sprint(s) }

func TestSlim(t *testing.T) {
	full := node("aws:///a/i", "eu", "eu-a", true)
	full.Spec.Taints = tainted("").Spec.Taints
	got, err := Slim(&full)
	if err != nil {
		t.Fatal(err)
	}
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "eu-a", UID: "u", ResourceVersion: "7", Labels: full.Labels},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///a/i", Taints: full.Spec.Taints[1:]},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("2Gi"), corev1.ResourcePods: resource.MustParse("110"),
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
	slim, ok := got.(*corev1.Node)
	if !ok {
		t.Fatal("not a node")
	}
	if diff := cmp.Diff(Nodes([]corev1.Node{full}), Nodes([]corev1.Node{*slim})); diff != "" {
		t.Errorf("a slim node says something else (-full +slim):\n%s", diff)
	}
	other := &corev1.Secret{}
	if passed, err := Slim(other); err != nil || passed != any(other) {
		t.Errorf("something else became %v, error %v", passed, err)
	}
}
