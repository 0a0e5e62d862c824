// Package copies writes the copies of applications in the members.
//
// # Purpose
//
// The Dispatcher runs a MemberQueue for each connected member: a queue with its own workers,
// which carry out the orders about the member's copies, as package app describes. The results are
// kept in memory (package state) while the member is connected; Observe reads them.
//
// A MemberQueue also records in each copy which process reconciles it, which follows from
// the mode in which the member is connected. A change of the mode connects the member anew,
// and the first pass over each copy hands it over with one write. Copies that are being
// deleted, or that have no application on the hub, are handed over too: otherwise
// no process would remove their finalizer.
//
// Beside a copy, a MemberQueue writes the Secrets and ConfigMaps that the application propagates
// (package propagate). They are read from the hub's API server, by name, once for all members.
//
// MemberQueue.DryRun returns what would be written of a copy, by dry runs, outside of the queue.
//
// For an application whose status was wiped, a MemberQueue asks the member's API server
// for the copy; Find returns the result.
//
// # Non-goals
//
// The package does not decide where an application runs, and writes no status: package app
// does. In a member it writes only copies, missing namespaces, and the objects that applications
// propagate.
//
// # Trade-offs
//
//   - A denied write is retried every five minutes, and at once when the application, or
//     readiness, permissions or capabilities of the member change. The member does not
//     report that a policy or a quota was lifted.
//   - The process that reconciles a copy is recorded in the copy, so that the hub and the
//     agent need not ask each other: one write, which both see by their watch, and which
//     stays true while the other is down. For the moment until both have seen it, both may
//     work on one copy. They render the same from the same facts and write with the same
//     field manager, so that they agree; a status is refused that rests on an older
//     copy; and of a password that both draw in that moment the later one stays, before
//     there is a pod to read it.
//   - Region and provider are in the copy, so that hub and agent know the same. A copy that
//     an older hub wrote does not have them. It is not written only to add them: a new
//     version of the hub changes nothing that did not change.
//   - Namespaces are made by a plain create. Applying them would take the permission to
//     patch any namespace, and with it what its pods may do.
//   - A copy of a later generation, or of an application that the hub does not know, is not
//     overwritten, nor is an application created whose deletion, or move to another cluster,
//     the member has recorded: the hub was restored from an older backup. A copy whose spec
//     would stay the same is adopted. What was found is kept in the status, so that the wait
//     outlasts restarts, lost connections, and edits that reach the generation of the copy.
//     Edits that do so before the hub has compared the copy for the first time count as
//     updates. What is found is confirmed by a read from the hub's API server: a cache may be
//     behind the copies of a former leader.
//   - A generation that changes nothing of a copy, as an edit of the placement, does not write
//     it: the copy keeps the generation that it was made from, and counts as applied for the
//     present one. That generation is therefore a lower bound. It is kept only if the copy
//     was made from the generation before the present one, or its entry says that it was
//     applied for that (task.follows), so that all generations from the bound on had this copy in
//     this member: an edit and its reversal, of which the member saw neither, write the copy.
//     This keeps the comparisons with a hub that was restored to an older generation right:
//     below the bound, the copy is later, as before. From the bound on, the hub would write
//     the same copy, which it adopts also if it is later (knownCopy, unknownOrigin), and its
//     placement has the member, so that it does not delete the copy as one that it left; a
//     departure is recorded in the member with the generation that caused it (knownLeaving).
//     Of a member that the hub has no entry for, the copy was created by the later generation
//     that added the member, which is its bound (hasLater). A copy that waits for the user is
//     not kept: when it is settled, it is written.
//   - A status that the hub's own reconciler is about to write in a member counts before it is
//     written (Dispatcher.ObserveStatus), while the cache has the version that it replaces. If the
//     write fails, the hub says for a moment what was observed and the copy does not say yet.
//   - The user's approvals are not used up, because a manifest that is applied again may bring
//     them back. One names what was found: a deletion by its time on the hub, which is the same
//     in all members and after a crash, so that it does not cover the next deletion. When the
//     copy exists again, the member's record of the deletion is removed: a hub with new UIDs
//     would take the copy for one of a deleted application, and overwrite it.
//   - A missing copy is not created while another cluster of the application has a newer copy
//     or a recorded deletion: the application may have moved. Where the hub had a copy before, other
//     clusters are compared too, and those that are Ready are waited for. A cluster that is
//     away is not. Elsewhere, copies that are not later are updated: nothing newer is lost,
//     and one cluster does not hold up the others.
//   - A copy that changes hands costs one read of the member's record. Two hubs that are both
//     alive would otherwise adopt it from one another until the next inspection.
//   - What is propagated is written right after the copy, which owns it: an owner reference needs the
//     UID of the copy, and is the only tie by which an object follows a copy that a hub left behind,
//     or that is deleted without one. A workload may be written before its Secret by an agent only:
//     the hub's own reconciler waits for the queue, and pods wait for a Secret.
//   - The copy lists what is propagated before it is written, so that what is removed from
//     spec.propagate is found and deleted by any later hub. It does not have the versions: these are
//     kept in memory, and a hub that starts reads each object in the member once. Writing them into
//     the copy would cost a write for each change, and show a hash of a password.
//   - Nothing watches the sources: a watch takes the permission to list all Secrets of a namespace. They
//     are read every few minutes. Their content is kept for half a minute, of what was written a hash.
//   - Without an agent, the watch of children reports what happens to the objects in the member. With
//     an agent there is no such watch: the hub would have to be allowed to list all Secrets there.
//   - An object that lost both its UID of the hub and our label is still taken for the
//     copy while it carries the hub's generation. Otherwise it would be in the way of
//     the copy, and be left behind when the application is deleted.
package copies
