// Package app runs applications on the fleet: it decides on the hub and writes
// in the members.
//
// # What
//
// Two parts, so that no shared worker ever waits for the network of one member:
//
//   - Reconciler works on the hub's queue and reads memory only: the hub's cache,
//     the caches of connected members, and what the lanes report. It decides
//     (package placement), sums up (package aggregate), and writes the application's
//     finalizer, annotations and status, all on the hub.
//   - Distributor has one lane per connected member (package dispatch), each with a queue
//     and workers of its own. A lane reads the application from the hub's cache and makes the
//     member's copy follow: applied where status.clusters lists the member,
//     deleted and confirmed absent where that entry says Deleting.
//
// status.clusters is the inventory between the two. The Reconciler writes an entry
// before a lane may write the copy, and drops it after a lane confirmed that the
// copy is gone. A lane never deletes because an entry is missing.
//
// # Not
//
// It does not connect to members, does not know how healthy they are but from
// MemberCluster.status, and does not touch the objects that a copy owns: those are
// the spoke's. Namespaces are made where they are missing and never deleted.
//
// # Trade-offs
//
//   - What a lane reports lives in memory, in the lane. A new lane knows nothing,
//     and until it has looked at an application the member's entry stays as it is.
//     That is also what makes a restart free of writes.
//   - An absence counts only while the lane is not at work on the application: it
//     could be writing the copy again because of what it read just before. Since
//     lanes and Reconciler read the same cache, and the Reconciler reads the
//     application first and the lane's report second, an entry cannot be dropped
//     while a copy is on its way.
//   - Progress is written at most every five seconds, everything else at once (see
//     aggregate.Urgent). A status that was written and did not come back through the
//     watch yet is not computed again: the decision would rest on the old one.
//   - A copy that bears another UID of the hub's application is taken over if it
//     carries our managed-by label: the application was deleted and made again
//     while the member was away. Two hubs that share a member would therefore
//     fight for an application of the same name; one hub per member is assumed.
//   - A member whose agent is silent answers, and its copies can be written and deleted.
//     What they say is as old as the agent, so that its entries are stale and Unknown as
//     those of a member out of reach are.
//   - The entry of a cluster that left the fleet is dropped at once, with a Warning
//     event. What ran there keeps running, and the entry comes back when the
//     cluster does. If it does not, the copy is an orphan, which package member counts.
//   - A status that was wiped says nothing about copies. Before anything else is decided
//     the dispatcher of each connected member asks its API server for the copy, and a
//     member that does not answer counts as one that holds a copy: it gets an entry, and
//     a deletion waits for it. That may list a member that never held one. An
//     application that got its finalizer in this process and has no status yet is new,
//     and is not recovered.
//   - Where maxClusters leaves room for only some of the members that did not answer,
//     nothing is decided until they do, since the wrong choice deletes a shop.
package app
