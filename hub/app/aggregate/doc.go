// Package aggregate computes the status of an application on the hub from what is
// observed of it in its clusters.
//
// # Purpose
//
//   - Compute: derives the complete next status from the generation, the placement,
//     one observation per cluster and the previous status.
//   - Cluster.Bounded: makes the status that a member reports valid, before a decision depends on it.
//   - Urgent: reports whether a change of status must be written soon, or is
//     mere progress that may be batched with later changes.
//
// Compute first derives the entries of status.clusters, and nearly everything else
// from those alone. The entries are stored, so a hub that has just restarted and is
// not connected to any cluster computes the same status again and writes nothing.
//
// # Non-goals
//
// The package uses neither client nor clock. Package placement chooses the clusters.
//
// # Phases
//
// Clusters, regions and applications share one order of phases, worst first:
//
//	Failed    a cluster reports a failure, a copy cannot be written until a user
//	          intervenes, the placement is invalid, or the rollout failed
//	Unknown   a cluster does not answer
//	Deleting, Creating, Pending, Updating, Scaling
//	Running   everything placed is ready, at the current generation
//
// An application with one unreachable cluster is Unknown: it may not run everywhere, but no failure is known, and
// no user needs to act. Failed takes precedence over Unknown, because a user can
// act on it. An application is Creating until everything was ready once, which the condition Initialized
// records, and Updating afterwards.
//
// # Conditions
//
//   - Degraded is True while a cluster has failed or does not respond, or its copy is Degraded.
//   - Available is True while customers can be served in every placed cluster, with any generation. A cluster
//     that is known not to serve makes it False, otherwise one that does not respond Unknown.
//   - Stalled is True while a cluster, or the placement, waits for a user. A cluster that does not respond
//     does not stall, and neither does a reason from an earlier generation.
//
// # Trade-offs
//
//   - The entries are an inventory: an entry is added before a copy is written, and
//     removed when the copy is confirmed to be deleted or its cluster has left the
//     fleet. The phase Deleting in an entry instructs the hub to delete the copy; a
//     copy that a user deletes in the member is Updating.
//   - If the hub has not connected to a ready cluster since it started, the entry stays
//     unchanged until a probe fails.
//   - The counts of rejected clusters change with the fleet. While an application is placed, they are
//     written only with another change: otherwise a cluster that joins would cost a write for each application.
//     While it is not placed, they explain why, and are written as progress.
//   - Above 200 clusters, entries omit components and messages, and above 200 regions
//     those omit replicas, so that 500 clusters fit in 256 KiB. Each cluster's copy has the details.
package aggregate
