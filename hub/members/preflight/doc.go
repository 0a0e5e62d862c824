// Package preflight checks what a member cluster allows and offers, before and while
// the hub works in it.
//
// # Purpose
//
//   - PermissionsFrom lists the permissions that a role grants; Missing asks the cluster
//     which of them the credentials lack; Describe formats them for messages.
//   - Nodes aggregates the nodes: provider, region, zones, capacity. Slim is the cache
//     transform for nodes.
//   - Requested sums what the pods on the nodes request.
//   - Discover reads the version and the optional APIs that the cluster serves.
//   - Definitions installs and updates CustomResourceDefinitions and reports those that
//     are being deleted. Where an agent owns them, Verify only compares them.
//
// # Non-goals
//
// The package has no schedule and sets no conditions: the accessor of a member decides when to check and
// what follows. The package writes CustomResourceDefinitions only.
//
// # Trade-offs
//
//   - Permissions are read with one SelfSubjectRulesReview; only those that it does not
//     show are checked one by one. A check each minute thus costs a member one request
//     instead of a hundred. The rules of a namespace that does not exist are those that
//     apply in all namespaces.
//   - Pods are listed and not watched: the memory and the events of all pods of hundreds of clusters
//     would be spent on a sum. Of a pod only what decides on its requests is decoded, which takes a
//     third of the time and a fifth of the garbage (BenchmarkRequested: 10,000 pods).
//   - A definition is compared by the hash that was written with it, so that a restart
//     writes nothing. A manual edit therefore stays until the next version.
//   - A definition that is being deleted is left alone: the API server rejects new
//     objects of it, and the deletion cannot be cancelled.
package preflight
