// Package copies writes the copies of applications in the members.
//
// # Purpose
//
// The Dispatcher runs a MemberQueue for each connected member: a queue with its own workers,
// which carry out the orders about the member's copies, as package app describes. The results are
// kept in memory (package state) while the member is connected; Observe reads them.
//
// Before it writes a copy, a MemberQueue has package recovery assess what the member has of the application and the
// hub may not know, as after a restore from an older backup. Then it makes the intent and applies it.
//
// A MemberQueue also records in each copy which process reconciles it, and deletes what deleted applications left behind.
// Its results wake the queue of package propagate. For an application whose status was lost, Find looks for the copy.
// DryRun returns what would be written.
//
// # Non-goals
//
// The package does not decide where an application runs, and writes no status: package app
// does. In a member it writes only copies and missing namespaces.
//
// # Trade-offs
//
//   - An order whose recorded server is that of the spec has the hash of one without a record. A hub that missed another record
//     between the two compares the copy at its resync.
//   - A denied write is retried every five minutes, and when the application or the member changes.
//   - The process that reconciles a copy is recorded there, by one write that both processes see. Until both
//     have, both may work on it: they render the same, with the same field manager.
//   - A copy that differs only in its generation, or in what later hubs add, is not written: its generation
//     is a lower bound (task.isNextOf).
//   - What was found that the hub does not know is confirmed by a read from its API server: its cache may be behind.
//   - A copy that is about to be written is assessed again as it was read then.
//   - A missing copy is not created while members that are Ready are not connected: the application may have moved.
//   - A copy that changes hands costs one read of the member's record: another hub may be alive.
//   - A status that the hub's own reconciler is about to write in a member counts before it is
//     written (Dispatcher.ObserveStatus), while the cache has the version that it replaces: the
//     application's status would otherwise be a second write later.
//   - Namespaces are created, not applied: that would take the permission to patch any.
//   - The copy lists what is propagated before it is written, so that any later hub finds what to delete.
//   - An object that lost its marks but for the hub's generation is taken for the copy, and not left behind.
package copies
