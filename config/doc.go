// Package config holds what is installed in clusters, as the YAML files that
// people apply: the kinds' definitions, the permissions that Shopfleet asks for, and
// the Deployments that run it.
//
// # What
//
//   - crd/bases: the definitions, generated from the types in api.
//   - rbac/hub: the hub in its own cluster.
//   - rbac/member: the hub in each member cluster.
//   - rbac/agent: the hub in a member that has an agent.
//   - rbac/spoke: a spoke in its cluster, alone or as the agent of a hub.
//   - manager: the Deployments of hub and spoke, and what is around them.
//   - hub, spoke, monitoring, charts: for kustomize and Helm; see README.md.
//   - samples: one object of each kind.
//
// The files of crd, rbac and manager are embedded, so that what `kubectl shopfleet
// install` and `join` apply, what the hub checks before it engages a member, and what
// people read are one text. The charts hold copies that make generate writes.
//
// # Not
//
// No roles for people who run shops, and no client: who reads a manifest here applies
// it elsewhere.
//
// # Trade-offs
//
//   - No wildcards, and no verb without a call that needs it: server-side apply
//     needs patch and create; nothing but leases is ever updated.
//   - Shops live in any namespace of a member, so that the member's role is a
//     ClusterRole and covers Secrets in all of them. Who wants less binds the same
//     rules with a Role in chosen namespaces.
//   - Volumes and namespaces cannot be deleted with these permissions, not even by
//     mistake. In members the hub may delete a claim, and does so for a Restore that
//     was told to overwrite, after it told the volume to stay, and when a dump that it
//     fetched there is loaded.
//   - In members with an agent the hub makes Secrets and reads none: what a Job is told
//     about a bucket has to be where no ConfigMap is, out of sight.
package config
