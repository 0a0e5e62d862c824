package iam

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Role is a role of Azure. A nil Role allows everything.
type Role struct {
	Name, Description string
	IsCustom          bool
	Actions           []string
	NotActions        []string
	DataActions       []string
	NotDataActions    []string
	AssignableScopes  []string
}

// ParseRole reads the definition of a custom role.
func ParseRole(document []byte) (*Role, error) {
	r := &Role{}
	if err := decode(document, r); err != nil {
		return nil, fmt.Errorf("reading a role: %w", err)
	}
	if !r.IsCustom || len(r.AssignableScopes) == 0 || len(r.Actions)+len(r.DataActions) == 0 {
		return nil, fmt.Errorf("reading role %q: it is not custom, or has no scopes or no actions", r.Name)
	}
	return r, nil
}

// JoinRoles returns a role that allows what one of several allows. Roles must exclude nothing.
func JoinRoles(roles ...*Role) *Role {
	out := &Role{}
	for _, r := range roles {
		out.Actions = append(out.Actions, r.Actions...)
		out.DataActions = append(out.DataActions, r.DataActions...)
	}
	return out
}

// Allows reports whether the role includes an action of the control plane.
func (r *Role) Allows(action string) bool {
	return r == nil || includes(r.Actions, action) && !includes(r.NotActions, action)
}

// AllowsData reports whether the role includes a data action.
func (r *Role) AllowsData(action string) bool {
	return r == nil || includes(r.DataActions, action) && !includes(r.NotDataActions, action)
}

// includes reports whether a pattern matches an action, without case.
func includes(patterns []string, action string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return like(strings.ToLower(p), strings.ToLower(action)) })
}

// builtIn returns the built-in roles of Azure that the page names, as far as they matter here:
// https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/storage.
func builtIn() map[string]*Role {
	const services = "Microsoft.Storage/storageAccounts/blobServices/"
	return map[string]*Role{
		"Storage Blob Data Contributor": {
			Actions: []string{
				services + "containers/delete", services + "containers/read", services + "containers/write",
				services + "generateUserDelegationKey/action",
			},
			DataActions: []string{
				services + "containers/blobs/delete", services + "containers/blobs/read", services + "containers/blobs/write",
				services + "containers/blobs/move/action", services + "containers/blobs/add/action",
			},
		},
		"Storage Blob Delegator": {Actions: []string{services + "generateUserDelegationKey/action"}},
	}
}

// Permissions lists what a role of Google Cloud allows. Nil allows everything.
type Permissions []string

// ParsePermissions reads the definition of a custom role. Such a role has no wildcards.
func ParsePermissions(document []byte) (Permissions, error) {
	var in struct {
		Title               string      `json:"title"`
		IncludedPermissions Permissions `json:"includedPermissions"`
	}
	if err := yaml.UnmarshalStrict(document, &in); err != nil {
		return nil, fmt.Errorf("reading a role: %w", err)
	}
	for _, p := range in.IncludedPermissions {
		if strings.Count(p, ".") != 2 || strings.Contains(p, "*") {
			return nil, fmt.Errorf("reading role %q: %q is not a permission", in.Title, p)
		}
	}
	if len(in.IncludedPermissions) == 0 {
		return nil, fmt.Errorf("reading role %q: it has no permissions", in.Title)
	}
	return in.IncludedPermissions, nil
}

// Allow reports whether a permission is included. The empty one needs none.
func (p Permissions) Allow(permission string) bool {
	return p == nil || permission == "" || slices.Contains(p, permission)
}
