// Package app places applications on the fleet: it decides on the hub and writes copies
// to the members.
//
// # Purpose
//
// It has two parts, so that no shared worker ever waits for the network of one member:
//
//   - Reconciler works on the hub's queue and reads memory only: the hub's cache, the
//     caches of connected members, and the reports of the dispatcher; from the hub's API server,
//     what applications propagate. It decides the
//     placement (package placement), aggregates the status (package aggregate), and
//     writes the application's finalizer, annotations and status on the hub.
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
// Controller.DryRun decides about an application that need not exist, for a Plan (package plan).
//
// # Non-goals
//
// The package does not connect to members, knows their health from MemberCluster.status
// only, and does not touch the objects that a copy owns: the spoke does. It creates
// missing namespaces and never deletes any.
//
// # Trade-offs
//
//   - Decisions and results are kept in memory. After a restart a worker does nothing until the first pass
//     over the application has decided, and until it has acted the member's entry stays unchanged.
//     Therefore a restart causes no writes.
//   - The absence of a copy counts only as the result of the last order: a worker could be writing the copy
//     again by a later one. An order that comes a second time needs another result.
//   - An event of a member costs work for the applications that it concerns. Those that run
//     there have an order about it. Those that may be placed there are
//     found by a look at all placements (package placement), which are kept by reference,
//     since listing 10,000 applications from the cache copies 13 MB. These may be behind the
//     cache for a moment: an application that changes then is enqueued by its own event.
//   - The status has one writer. The backup scheduler reports its condition and entries to
//     this controller, which keeps them in memory. Until the scheduler reports again after a
//     restart, the stored ones stay.
//   - A status is written at once, and then at most once in a second; if it changes by mere progress
//     (see aggregate.Urgent), every five seconds. It is not computed again until the previous write is in
//     the cache: the decision would be based on the old status.
//   - A copy with another UID of the hub's application is adopted if it has the
//     managed-by label: the application was deleted and created again while the member
//     was disconnected. Two hubs that share a member would therefore compete for an
//     application of the same name; a member must belong to one hub.
//   - A member whose agent is silent still accepts requests, so its copies can be written
//     and deleted. Their status is outdated, so the entries are stale and Unknown, like
//     those of an unreachable member.
//   - The entry of a cluster that left the fleet is removed at once, with a Warning
//     event, unless the application is being deleted. Its workloads keep running, and the entry returns with the cluster. If it
//     does not return, the copy is an orphan, which package member counts.
//   - A deletion that no longer waits for a member records the copy there before its entry
//     goes (package recovery), also if the member left the fleet meanwhile. The member's
//     queue deletes what is recorded, and then the record, each step as often as needed. The
//     times of the last response and of its loss bound the wait, so a member that comes and
//     goes is waited for longer.
//   - A protected application that was deleted nevertheless counts as alive until it is no
//     longer protected (EcommerceApp.Ending): it is updated and repaired, and nothing of it
//     is deleted. Kubernetes cannot take a deletion back, so it ends with the protection.
//   - A status that was lost says nothing about copies. Before anything else is decided,
//     the dispatcher of each connected member that is recorded in the metadata, or whose
//     cache has a copy, reads the copy from the API server. A recorded member that does not
//     answer is assumed to hold a copy: it gets an entry, and a deletion waits for it. The
//     record is kept when a cluster is left, so that a move back costs no write; without a
//     record, all members are asked. An application without our finalizer is new, and is not
//     recovered.
//   - If maxClusters leaves room for only some of the members that did not answer, nothing
//     is decided until they do, because the wrong choice deletes a shop. The same applies if
//     the placement has regions, providers or a selector, and the status of a member that
//     holds a copy, or may hold one, was lost as well: its region is unknown.
package app
