package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// roleFile holds the fields that Role and ClusterRole share.
type roleFile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Rules             []rbacv1.PolicyRule `json:"rules"`
}

func typed(t *testing.T, kind string) any {
	t.Helper()
	switch kind {
	case "Namespace":
		return &corev1.Namespace{}
	case "ServiceAccount":
		return &corev1.ServiceAccount{}
	case "Role", "ClusterRole":
		return &roleFile{}
	case "RoleBinding":
		return &rbacv1.RoleBinding{}
	case "ClusterRoleBinding":
		return &rbacv1.ClusterRoleBinding{}
	}
	t.Fatalf("kind %q has no place among the permissions", kind)
	return nil
}

func paths(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("rbac/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 15 {
		t.Fatalf("found %d manifests, want those of hub, member and spoke", len(found))
	}
	return found
}

func TestManifestsParseStrictly(t *testing.T) {
	for _, path := range paths(t) {
		t.Run(path, func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var meta metav1.TypeMeta
			if err := yaml.Unmarshal(raw, &meta); err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict(raw, typed(t, meta.Kind)); err != nil {
				t.Errorf("strict parsing: %v", err)
			}
			if strings.Count(string(raw), "\n---") > 0 {
				t.Error("more than one document: embedding reads one a file")
			}
		})
	}
}

func TestNoWildcards(t *testing.T) {
	for _, path := range paths(t) {
		if !strings.HasSuffix(path, "role.yaml") {
			continue
		}
		t.Run(path, func(t *testing.T) {
			rules := rulesIn(t, path)
			if len(rules) == 0 {
				t.Fatal("no rules")
			}
			for _, rule := range rules {
				words := slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs)
				if strings.Contains(strings.Join(words, ""), "*") {
					t.Errorf("wildcard in %v", rule)
				}
			}
		})
	}
}

func rulesIn(t *testing.T, path string) []rbacv1.PolicyRule {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	role := &roleFile{}
	if err := yaml.UnmarshalStrict(raw, role); err != nil {
		t.Fatal(err)
	}
	return role.Rules
}

func both(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// TestWithAnAgentTheHubWritesCopiesAndVolumes pins the hub's write permissions in a member
// with an agent: copies, and what storage, backups and restores need.
func TestWithAnAgentTheHubWritesCopiesAndVolumes(t *testing.T) {
	rules, err := Agent.Rules()
	if err != nil {
		t.Fatal(err)
	}
	more, err := Agent.NamespacedRules()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"ecommerceapps.ecommerce.io": {"create", "patch", "delete"},
		// The record, in Namespace.
		"configmaps.":                   {"create", "patch"},
		"namespaces.":                   {"create"},
		"storageclasses.storage.k8s.io": {"create", "patch"},
		"volumesnapshotclasses.snapshot.storage.k8s.io":  {"create", "patch"},
		"volumesnapshots.snapshot.storage.k8s.io":        {"create", "delete"},
		"volumesnapshotcontents.snapshot.storage.k8s.io": {"create", "delete"},
		"persistentvolumes.":                             {"create", "patch"},
		"persistentvolumeclaims.":                        {"create", "delete"},
		"pods/exec.":                                     {"create"},
		// Jobs that upload, download and load dumps, and their signed requests.
		"jobs.batch": {"create", "delete"},
		"secrets.":   {"create", "delete"},
		// Renewing its own token.
		"serviceaccounts/token.": {"create"},
	}
	got := map[string][]string{}
	for resource, allowed := range verbs(append(rules, more...)) {
		for _, verb := range allowed {
			if !slices.Contains([]string{"get", "list", "watch"}, verb) {
				got[resource] = append(got[resource], verb)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if allowed := verbs(rules)["configmaps."]; allowed != nil {
		t.Errorf("verbs %v on configmaps", allowed)
	}
	// The hub reads the claims and pods of one database by name.
	for resource, not := range map[string][]string{
		"persistentvolumeclaims.": {"list", "watch"}, "persistentvolumes.": {"list", "watch"},
		// The hub creates Secrets and never reads one.
		"secrets.": {"get", "list", "watch", "patch", "update"},
		// The pods of one Job are listed by its label.
		"pods.": {"watch"}, "jobs.batch": {"list", "watch"}, "cronjobs.batch": {"list", "watch"},
	} {
		if both(verbs(rules)[resource], not) {
			t.Errorf("one of %v %s", not, resource)
		}
	}
}

// TestVolumesAreTheSameInBothModes checks that both roles allow the same for storage and
// restores, since the mode may change during a restore.
func TestVolumesAreTheSameInBothModes(t *testing.T) {
	rules := map[Set][]rbacv1.PolicyRule{}
	for _, set := range []Set{Member, Agent} {
		var err error
		if rules[set], err = set.Rules(); err != nil {
			t.Fatal(err)
		}
	}
	rules[Agent] = append(rules[Agent], rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"watch"}}) // The agent watches them.
	for _, resource := range []string{
		"persistentvolumes.", "pods.", "pods/exec.", "jobs.batch", "storageclasses.storage.k8s.io", "csidrivers.storage.k8s.io", "volumesnapshotclasses.snapshot.storage.k8s.io",
		"volumesnapshots.snapshot.storage.k8s.io", "volumesnapshotcontents.snapshot.storage.k8s.io",
	} {
		member, agent := verbs(rules[Member])[resource], verbs(rules[Agent])[resource]
		if diff := cmp.Diff(member, agent); diff != "" || len(member) == 0 {
			t.Errorf("%s (-member +agent):\n%s", resource, diff)
		}
	}
}

// TestAppliedMeansWritable checks that create comes with patch: server-side apply of a
// missing object requires both.
func TestAppliedMeansWritable(t *testing.T) {
	for _, set := range []Set{Member, Spoke} {
		rules, err := set.Rules()
		if err != nil {
			t.Fatal(err)
		}
		for resource, allowed := range verbs(rules) {
			// Never applied. A snapshot of a restore and its content are created once, and do not change.
			created := []string{
				"namespaces.", "pods/exec.", "pods/eviction.", "jobs.batch",
				"volumesnapshots.snapshot.storage.k8s.io", "volumesnapshotcontents.snapshot.storage.k8s.io",
			}
			if !slices.Contains(created, resource) && slices.Contains(allowed, "create") && !slices.Contains(allowed, "patch") {
				t.Errorf("%s: create without patch on %s", set, resource)
			}
			if slices.Contains(allowed, "watch") && !slices.Contains(allowed, "list") {
				t.Errorf("%s: watch without list on %s", set, resource)
			}
		}
	}
}

// TestTheHubAndItsKinds checks that the hub cannot write CloudAccounts.
func TestTheHubAndItsKinds(t *testing.T) {
	rules, err := Hub.Rules()
	if err != nil {
		t.Fatal(err)
	}
	for resource, want := range map[string][]string{
		"cloudaccounts": {"get", "list", "watch"},
		"backups":       {"get", "list", "watch", "create", "patch", "delete"},
		"restores":      {"get", "list", "watch", "create", "patch", "delete"},
	} {
		if diff := cmp.Diff(want, verbs(rules)[resource+".ecommerce.io"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", resource, diff)
		}
		if diff := cmp.Diff([]string{"get", "patch"}, verbs(rules)[resource+"/status.ecommerce.io"]); diff != "" {
			t.Errorf("status of %s (-want +got):\n%s", resource, diff)
		}
	}
}

// TestTokens checks that the hub can create tokens of its own ServiceAccount only, in its
// own cluster for credentials of type Federated, and in members to renew its token.
func TestTokens(t *testing.T) {
	want := rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{HubServiceAccount}, Verbs: []string{"create"},
	}
	for _, set := range []Set{Hub, Member, Agent} {
		rules, err := set.Rules()
		if err != nil {
			t.Fatal(err)
		}
		if of := verbs(rules)["serviceaccounts/token."]; of != nil {
			t.Errorf("%s: tokens in all namespaces: %v", set, of)
		}
		namespaced, err := set.NamespacedRules()
		if err != nil {
			t.Fatal(err)
		}
		token := slices.IndexFunc(namespaced, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "serviceaccounts/token") })
		if token < 0 {
			t.Fatalf("%s: no tokens", set)
		}
		if diff := cmp.Diff(want, namespaced[token]); diff != "" {
			t.Errorf("%s: tokens (-want +got):\n%s", set, diff)
		}
	}
}

// verbs returns the allowed verbs by resource.
func verbs(rules []rbacv1.PolicyRule) map[string][]string {
	allowed := map[string][]string{}
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				allowed[resource+"."+group] = append(allowed[resource+"."+group], rule.Verbs...)
			}
		}
	}
	return allowed
}

func TestObjectsComeNamespaceFirst(t *testing.T) {
	tests := map[Set][]string{
		Hub: {
			"Namespace/shopfleet-system", "ClusterRole/shopfleet-hub", "ClusterRoleBinding/shopfleet-hub",
			"Role/shopfleet-hub", "RoleBinding/shopfleet-hub", "ServiceAccount/shopfleet-hub",
		},
		Member: {
			"Namespace/shopfleet-system", "ClusterRole/shopfleet-member", "ClusterRoleBinding/shopfleet-member",
			"Role/shopfleet-member", "RoleBinding/shopfleet-member", "ServiceAccount/shopfleet-hub",
		},
		Agent: {
			"Namespace/shopfleet-system", "ClusterRole/shopfleet-member-agent", "ClusterRoleBinding/shopfleet-member-agent",
			"Role/shopfleet-member-agent", "RoleBinding/shopfleet-member-agent", "ServiceAccount/shopfleet-hub",
		},
		Spoke: {
			"Namespace/shopfleet-system", "ClusterRole/shopfleet-spoke", "ClusterRoleBinding/shopfleet-spoke",
			"Role/shopfleet-spoke", "RoleBinding/shopfleet-spoke", "ServiceAccount/shopfleet-spoke",
		},
	}
	for set, want := range tests {
		t.Run(string(set), func(t *testing.T) {
			objects, err := set.Objects()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range objects {
				got = append(got, o.GetKind()+"/"+o.GetName())
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

// TestKubectlOrder checks that the file of the namespace sorts before the files of its objects,
// since kubectl applies the files of a folder by name.
func TestKubectlOrder(t *testing.T) {
	for _, path := range paths(t) {
		var file struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(raw, &file); err != nil {
			t.Fatal(err)
		}
		if file.Metadata.Namespace != "" && filepath.Base(path) < "namespace.yaml" {
			t.Errorf("%s would be applied before its namespace", path)
		}
	}
}

// TestBindings: each binding grants the set's own role to the set's account.
func TestBindings(t *testing.T) {
	accounts := map[Set]string{Hub: HubServiceAccount, Member: HubServiceAccount, Agent: HubServiceAccount, Spoke: SpokeServiceAccount}
	for set, account := range accounts {
		objects, err := set.Objects()
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		for _, o := range objects {
			known[o.GetKind()+"/"+o.GetName()] = true
		}
		for _, o := range objects {
			binding := &rbacv1.ClusterRoleBinding{}
			if o.GetKind() != "ClusterRoleBinding" && o.GetKind() != "RoleBinding" {
				continue
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, binding); err != nil {
				t.Fatal(err)
			}
			if role := binding.RoleRef.Kind + "/" + binding.RoleRef.Name; !known[role] {
				t.Errorf("%s: %s %s binds %s, which the set lacks", set, o.GetKind(), o.GetName(), role)
			}
			want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: Namespace}}
			if diff := cmp.Diff(want, binding.Subjects); diff != "" {
				t.Errorf("%s: subjects of %s (-want +got):\n%s", set, o.GetName(), diff)
			}
		}
	}
}

func TestDefinition(t *testing.T) {
	definition, err := Definition("ecommerce.io", "ecommerceapps")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := definition.GetName(), "ecommerceapps.ecommerce.io"; got != want {
		t.Errorf("name %q, want %q", got, want)
	}
	if _, err := Definition("ecommerce.io", "nothings"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a kind that does not exist: %v, want %v", err, fs.ErrNotExist)
	}
}
