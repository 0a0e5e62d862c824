// Package config embeds the manifests of Shopfleet: CRDs, permissions and Deployments.
//
// # Purpose
//
//   - crd/bases: the CRDs, generated from the types in api.
//   - rbac/hub: permissions of the hub in its own cluster.
//   - rbac/member: permissions of the hub in each member cluster.
//   - rbac/agent: permissions of the hub in a member with an agent.
//   - rbac/spoke: permissions of a spoke in its cluster, alone or as the agent of a hub.
//   - admission/hub: policies that protect from deletion, one about the requesters of Plans, and a warning about
//     applications without a placement.
//   - admission/spoke, admission/member: the policy that protects definitions, where there is a spoke and in a member.
//   - manager: the Deployments of hub and spoke, with their Services and policies.
//   - hub, spoke, monitoring, charts: for kustomize and Helm; see README.md.
//   - samples: objects of each kind.
//
// The files of crd, rbac and manager are embedded, so that `kubectl shopfleet install`
// and `join`, the permission checks of the hub, and kubectl use the same manifests. The
// charts hold copies that make generate writes.
//
// # Non-goals
//
// The package has no roles for users of shops, and no client: callers apply the manifests.
//
// # Trade-offs
//
//   - There are no wildcards, and no verb without a call that needs it. Server-side apply
//     needs patch and create; only leases are updated.
//   - Shops run in any namespace of a member, so the member's role is a ClusterRole and
//     covers Secrets in all namespaces. To grant less, bind the same rules with a Role in
//     each namespace.
//   - These permissions do not allow deleting volumes and namespaces. In members the hub
//     may delete a claim: for a Restore with overwrite, after it set the volume's reclaim
//     policy to Retain, and when a downloaded dump is loaded.
//   - In members with an agent the hub creates Secrets and reads none. The signed requests
//     of a Job do not belong in a ConfigMap.
package config
