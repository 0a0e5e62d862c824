// Package config holds what is installed in clusters, as the YAML files that
// people apply: the kinds' definitions and the permissions that Shopfleet asks for.
//
// # What
//
//   - crd/bases: the definitions, generated from the types in api.
//   - rbac/hub: the hub in its own cluster.
//   - rbac/member: the hub in each member cluster.
//   - rbac/spoke: a spoke that runs alone in a cluster.
//   - samples: one object of each kind.
//
// The files are embedded, so that what `kubectl shopfleet join` grants, what the
// hub checks before it engages a member, and what people read are one text.
//
// # Not
//
// No Deployments, no roles for people, and no client: who reads a manifest here
// applies it elsewhere.
//
// # Trade-offs
//
//   - No wildcards, and no verb without a call that needs it: server-side apply
//     needs patch and create; nothing but leases is ever updated.
//   - Shops live in any namespace of a member, so that the member's role is a
//     ClusterRole and covers Secrets in all of them. Who wants less binds the same
//     rules with a Role in chosen namespaces.
//   - Volume claims and namespaces cannot be deleted with these permissions, not
//     even by mistake.
package config
