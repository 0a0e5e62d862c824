// Package app places applications on the fleet: it decides on the hub and writes copies
// to the members.
//
// # Purpose
//
// It has two parts, so that no worker that members share waits for the network of one of them:
//
//   - Reconciler reads caches and package state, decides the placement and the rollout, and writes the
//     application's metadata and status.
//   - Dispatcher has one queue per connected member (package copies), with its own
//     workers. Each pass of the Reconciler ends with a Decision (package state), which it hands
//     over: an order about each copy. A worker carries out that order and nothing else. Its result has the
//     hash of the order. Each pass compares it with the present order, and enqueues the copy if they differ.
//     Package propagate writes Secrets and ConfigMaps beside a copy.
//
// status.clusters is the inventory. An order that needs an entry there, because of a new cluster, a deletion, a share
// or a revision, is handed over after the status was written. Other orders, as of most edits, are handed over before.
// So are the first copies of an application: one write records their clusters in its metadata
// (v1.ClustersAnnotation) together with the finalizer. The status follows when the workers have
// acted, or after a second, so that its write does not delay the copies; until then the Decision stands for its entries. The Reconciler removes an entry after a
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
//   - After a restart a worker does nothing until the first pass over the application has decided.
//   - An event of a member evaluates all placements.
//   - The absence of a copy counts only as the result of the last order: a worker could be writing the copy
//     again by a later one.
//   - The status has one writer: the backup scheduler hands its part over.
//   - A status is written at once, and then at most once in a second; mere progress
//     (see aggregate.Urgent) every five, or every thirty while many applications make progress. Until the
//     write is in the cache it is not computed again.
//   - A member whose agent is silent is written to, but its entries are stale and Unknown.
//   - The entry of a cluster that left the fleet is removed, and its workloads keep running.
//   - A deletion that no longer waits for a member records the copy there (package recovery) before its entry goes.
//   - A protected application that was deleted counts as alive (EcommerceApp.Ending).
//   - The copies of an application whose status was lost are looked for in the members that the metadata lists, or
//     in all. One that does not respond may hold a copy; while that matters to the placement, nothing is decided.
package app
