package config

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Names in the manifests that code refers to.
const (
	// Namespace holds the ServiceAccounts, and on the hub the registration Secrets.
	Namespace = "shopfleet-system"
	// HubServiceAccount is the hub's ServiceAccount, in its own cluster and in each member.
	HubServiceAccount = "shopfleet-hub"
	// SpokeServiceAccount is the spoke's ServiceAccount.
	SpokeServiceAccount = "shopfleet-spoke"
	// MemberClusterRole is the role of the hub in each member.
	MemberClusterRole = "shopfleet-member"
	// AgentRole is the hub's ClusterRole in a member with an agent, and its Role for the
	// agent's Lease.
	AgentRole = "shopfleet-member-agent"
	// HubRecord is the ConfigMap in each member, in Namespace, that says which hub manages it.
	HubRecord = "shopfleet-hub"
	// MemberPolicyLabel is on the admission policies and bindings that a member has for its hub.
	MemberPolicyLabel = "ecommerce.io/member-policy"
	// ReservedLabel marks a namespace of a member, whatever its value, in which the account of the hub
	// changes nothing.
	ReservedLabel = "ecommerce.io/reserved"
	// PlanPolicy is the admission policy about the requesters of Plans, and its binding.
	PlanPolicy = "shopfleet-plan-requester"
	// SpokeLease is the Lease that the spoke's leader renews, in Namespace.
	SpokeLease = "shopfleet-spoke.ecommerce.io"
)

// Set names a folder of permissions that are applied together.
type Set string

// The sets.
const (
	Hub    Set = "hub"
	Member Set = "member"
	// Agent replaces Member in a member with an agent.
	Agent Set = "agent"
	Spoke Set = "spoke"
)

//go:embed rbac/hub/*.yaml rbac/member/*.yaml rbac/agent/*.yaml rbac/spoke/*.yaml admission/hub/*.yaml admission/spoke/*.yaml admission/member/*.yaml crd/bases/*.yaml manager/hub/*.yaml manager/spoke/*.yaml
var files embed.FS

// ErrNotClusterRole is returned when a manifest is not the expected ClusterRole.
var ErrNotClusterRole = errors.New("not a ClusterRole")

// Objects returns the objects of the set: the namespace first, the others by file name.
// The error is nil for the sets above.
func (s Set) Objects() ([]*unstructured.Unstructured, error) {
	objects, err := folder("rbac/" + string(s))
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(afterNamespaces(a), afterNamespaces(b))
	})
	return objects, nil
}

// MemberPolicies returns the admission policies and bindings of a member, of either mode, ordered by file
// name. They have the label MemberPolicyLabel, which finds the policies of an earlier version.
func MemberPolicies() ([]*unstructured.Unstructured, error) {
	objects, err := folder("admission/member")
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[MemberPolicyLabel] = "true"
		object.SetLabels(labels)
	}
	return objects, nil
}

func afterNamespaces(object *unstructured.Unstructured) int {
	if object.GetKind() == "Namespace" {
		return 0
	}
	return 1
}

// folder returns the objects in a folder, ordered by file name.
func folder(dir string) ([]*unstructured.Unstructured, error) {
	entries, err := files.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing %q: %w", dir, err)
	}
	objects := make([]*unstructured.Unstructured, 0, len(entries))
	for _, entry := range entries {
		object := &unstructured.Unstructured{}
		if err := decode(dir+"/"+entry.Name(), &object.Object); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// Rules returns the rules of the set's ClusterRole. The error is nil for the sets above.
func (s Set) Rules() ([]rbacv1.PolicyRule, error) {
	path := "rbac/" + string(s) + "/clusterrole.yaml"
	role := &rbacv1.ClusterRole{}
	if err := decode(path, role); err != nil {
		return nil, err
	}
	if role.Kind != "ClusterRole" {
		return nil, fmt.Errorf("role in %q is a %q: %w", path, role.Kind, ErrNotClusterRole)
	}
	return role.Rules, nil
}

// NamespacedRules returns the rules of the set's Role in Namespace. It returns an error if
// the set has no Role.
func (s Set) NamespacedRules() ([]rbacv1.PolicyRule, error) {
	role := &rbacv1.Role{}
	if err := decode("rbac/"+string(s)+"/role.yaml", role); err != nil {
		return nil, err
	}
	return role.Rules, nil
}

// Definition returns the CustomResourceDefinition of a kind by its group and plural, for
// example "ecommerce.io" and "ecommerceapps". It returns an error if there is no such definition.
func Definition(group, plural string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := decode("crd/bases/"+group+"_"+plural+".yaml", &object.Object); err != nil {
		return nil, err
	}
	return object, nil
}

// decode reads a file with one document into a value. Unknown fields are an error.
func decode(path string, into any) error {
	raw, err := files.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading %q: %w", path, err)
	}
	if err := yaml.UnmarshalStrict(raw, into); err != nil {
		return fmt.Errorf("parsing %q: %w", path, err)
	}
	return nil
}
