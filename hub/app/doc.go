// Package app places applications on the fleet: it decides on the hub and writes copies
// to the members.
//
// # Purpose
//
// It has two parts, so that no shared worker ever waits for the network of one member:
//
//   - Reconciler works on the hub's queue. It reads caches and package state, decides the placement and the
//     rollout, and writes the application's metadata and status.
//   - Dispatcher has one queue per connected member (package copies), with its own
//     workers. Each pass of the Reconciler ends with a Decision (package state), which it hands
//     over: an order about each copy. A worker carries out the order that it was handed,
//     and nothing else. Its result carries the hash of the order. Each pass compares, and
//     enqueues again where the result is about another order.
//
// status.clusters is the inventory. What it does not say yet, a new cluster, a deletion, a share or a
// revision, is handed over after it was written. Everything else, as most edits, is handed over before.
// So are the copies of a new application: their clusters are recorded in its metadata
// (v1.ClustersAnnotation) with the finalizer, in one write. Its status is written when the workers have
// acted, or after a second: before, it would compete with the copies. The Reconciler removes an entry after a
// worker confirmed that the copy is deleted. A missing entry never causes a deletion.
//
// Controller.DryRun decides for a Plan (package plan).
//
// # Non-goals
//
// The package does not connect to members, and leaves what a copy owns to the spoke.
//
// # Trade-offs
//
//   - Decisions and results are kept in memory. After a restart a worker does nothing until the first pass
//     over the application has decided, and until it has acted the entry stays unchanged.
//   - The absence of a copy counts only as the result of the last order: a worker could be writing the copy
//     again by a later one.
//   - An event of a member costs a look at all placements.
//   - The status has one writer: the backup scheduler hands its part over.
//   - A status is written at once, and then at most once in a second; mere progress
//     (see aggregate.Urgent) every five. It is not computed again until the last write is in the cache.
//   - The copy of an application that was created again while the member was away is adopted.
//   - A member whose agent is silent is written to, but its entries are stale and Unknown.
//   - The entry of a cluster that left the fleet is removed, and its workloads keep running.
//   - A deletion that no longer waits for a member records the copy there (package recovery) before its entry goes.
//   - A protected application that was deleted counts as alive (EcommerceApp.Ending).
//   - A status that was lost says nothing about copies. They are looked for in the members that the
//     metadata lists, or in all. One that does not answer may hold a copy; while that matters to
//     the placement, nothing is decided.
package app
