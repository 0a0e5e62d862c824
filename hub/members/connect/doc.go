// Package connect opens and holds one connection to a member cluster, including its
// informers.
//
// # Purpose
//
//   - Attempt.Connect turns a checked kubeconfig into a Connection with synced caches,
//     or returns the failed step and the reason: probe, identity, permissions,
//     definitions, caches.
//   - RecordClient records in the member which hub manages it, and which applications were deleted.
//   - Connection.Renew requests a token and connects with it once, before it is stored.
//   - Connection.Engage hands the cluster to the hub's reconcilers. Probe, Inspect,
//     Nodes, Requested and, in mode Agent, SampleLease observe it from then on.
//
// # Non-goals
//
// The package neither retries nor schedules, which the fleet does. All state but Known belongs to
// one connection.
//
// # Trade-offs
//
//   - Every connection has a new transport, discovery and caches, so that nothing stale
//     survives an outage.
//   - Optional APIs are not supported here: kinds that some clusters do not serve must
//     not be among the watched ones, because their caches would never sync.
package connect
