package config

import (
	"embed"
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Names in the manifests that code refers to.
const (
	// Namespace is where the ServiceAccounts live, and on the hub the
	// registration Secrets.
	Namespace = "shopfleet-system"
	// HubServiceAccount is the account of the hub, in its own cluster and in each member.
	HubServiceAccount = "shopfleet-hub"
	// SpokeServiceAccount is the account of a spoke that runs alone.
	SpokeServiceAccount = "shopfleet-spoke"
	// MemberClusterRole is the role of the hub in each member.
	MemberClusterRole = "shopfleet-member"
)

// Set is a folder of permissions that are applied together.
type Set string

// The sets.
const (
	Hub    Set = "hub"
	Member Set = "member"
	Spoke  Set = "spoke"
)

//go:embed rbac/hub/*.yaml rbac/member/*.yaml rbac/spoke/*.yaml crd/bases/*.yaml
var files embed.FS

// ErrNotClusterRole tells that a set has no ClusterRole where it should be.
var ErrNotClusterRole = errors.New("not a ClusterRole")

// Objects returns the objects of the set, the namespace first and the rest by
// file name. For the sets above the error is nil.
func (s Set) Objects() ([]*unstructured.Unstructured, error) {
	dir := "rbac/" + string(s)
	entries, err := files.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing %q: %w", dir, err)
	}
	var namespaces, rest []*unstructured.Unstructured
	for _, entry := range entries {
		object := &unstructured.Unstructured{}
		if err := decode(dir+"/"+entry.Name(), &object.Object); err != nil {
			return nil, err
		}
		if object.GetKind() == "Namespace" {
			namespaces = append(namespaces, object)
		} else {
			rest = append(rest, object)
		}
	}
	return append(namespaces, rest...), nil
}

// Rules returns what the set's ClusterRole allows. For the sets above the error is nil.
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

// Definition returns the CustomResourceDefinition of a kind by its group and
// plural, for example "ecommerce.io" and "ecommerceapps". The error tells that
// there is none.
func Definition(group, plural string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := decode("crd/bases/"+group+"_"+plural+".yaml", &object.Object); err != nil {
		return nil, err
	}
	return object, nil
}

// decode reads a file of one document into a value; unknown fields are an error.
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
