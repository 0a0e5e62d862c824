// Package aggregate computes the status of an application on the hub from what is
// observed of it in its clusters.
//
// # Purpose
//
//   - Compute: derives the complete next status from the generation, the placement,
//     one observation per cluster and the previous status.
//   - Cluster.Bounded: makes what a member reports valid, before anything is decided by it.
//   - Urgent: reports whether a change of status must be written immediately, or is
//     mere progress that may be batched with later changes. Requested: reports whether an
//     urgent one must not even wait a second for others.
//
// Compute first derives the entries of status.clusters, and nearly everything else
// from those alone. The entries are stored, so a hub that has just restarted and is
// not connected to any cluster computes the same status again and writes nothing.
//
// # Non-goals
//
// The package uses neither client nor clock. Package placement chooses the clusters;
// what happens within a cluster is decided by that cluster's reconciler.
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
// An application with one unreachable cluster is Unknown, not Running, because it is
// not known whether it runs everywhere. It is not Failed, because no failure is known
// and it recovers without intervention, and not Updating, because no rollout is in
// progress. The field ready (2/3), the regions, and the conditions Ready and Degraded
// show how much of it runs. Failed takes precedence over Unknown, because a user can
// act on it.
//
// The condition Degraded is True while a cluster has failed or does not respond, or the copy there is
// Degraded, ready or not.
//
// The condition Available is True while every placed cluster says that customers can be
// served there, whatever generation it runs. A cluster that does not respond makes it
// Unknown, and one that is known not to serve makes it False. Stalled is True while a part
// in a cluster, or the placement, waits for a user, which a cluster that does not respond
// does not. A part that stalled over the generation before no longer counts.
//
// An application is Creating until everything was ready once. The condition
// Initialized records that; afterwards it is Updating.
//
// # Trade-offs
//
//   - The entries are an inventory: an entry is added before a copy is written, and
//     removed when the copy is confirmed to be deleted, or when its cluster has left the
//     fleet. The phase Deleting in an entry instructs the hub to delete the copy, so a
//     copy that a user deletes in the member is shown as Updating.
//   - A cluster that was ready and that the hub has not connected to since it started
//     keeps its entry unchanged until a probe fails.
//   - The counts of rejected clusters follow the fleet, not the application. While it is
//     placed, a change of them alone is not written, so that a cluster that joins or leaves
//     costs no write of applications that it does not run: the status has the counts of the
//     last write that had another cause. While it is not placed they are why, so they are
//     written, as progress.
//   - Above 200 clusters, entries omit components and messages, and above 200 regions
//     those omit replicas, so that 500 clusters fit in 256 KiB. The details are in each
//     cluster's copy.
package aggregate
