// Package aggregate turns what is observed of an application in its clusters into
// the application's status on the hub.
//
// # What
//
//   - Compute: generation, placement, one observation per cluster and the
//     previous status to the next status, whole.
//   - Urgent: whether a change of status must be written at once, or is mere
//     progress that may wait to be written together with more.
//
// The entries of status.clusters are computed first, and nearly everything else
// from them alone. The entries are stored, so a hub that was just restarted and
// has not connected to anything computes the same status again and writes
// nothing.
//
// # Not
//
// No client and no clock. Which clusters are chosen is the placement's
// decision; what happens in a cluster is decided in that cluster.
//
// # Phases
//
// One order for cluster, region and application, the worst first:
//
//	Failed    a cluster says so, its copy cannot be written until somebody
//	          changes something, or the placement cannot be read
//	Unknown   a cluster does not answer
//	Deleting, Creating, Pending, Updating, Scaling
//	Running   everything placed is ready, at the current generation
//
// An application with one cluster out of reach is Unknown, not Running: nobody
// can say whether it runs everywhere. It is not Failed either, because nothing
// is known to be wrong with it and it recovers by itself, and not Updating,
// because nothing is being rolled out. How much of it does run stands beside it:
// in ready (2/3), in the regions, and in the conditions Ready and Degraded.
// Failed wins over Unknown, since a person can do something about it.
//
// Creating lasts until everything was ready once. From then on, which the
// condition Initialized remembers, it is Updating.
//
// # Trade-offs
//
//   - An entry is an inventory first: it appears before a copy is written and
//     goes when the copy is confirmed gone, or when its cluster left the fleet.
//     The phase Deleting in an entry is an instruction to delete the copy, so a
//     copy that somebody else deletes is shown as Updating.
//   - A cluster that this process has not connected to yet, although it was
//     ready when last heard of, keeps its entry as it is: no news is not bad
//     news until the probes say so.
//   - Above 200 clusters entries carry neither components nor messages, and
//     above 200 regions those carry no replicas, so that 500 clusters fit in
//     256 KiB. The details are in each cluster's copy.
package aggregate
