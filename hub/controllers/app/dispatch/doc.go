// Package dispatch writes the copies of applications in the members.
//
// # What
//
// Each connected member has a lane: a queue and workers of its own, which make the
// member's copies follow the applications on the hub, as package app describes. What a
// lane found out is kept in memory until the lane is closed; Observe reads it.
//
// A lane also says in each copy who turns it into workloads, the member's home, which is
// the mode that the member is engaged in: a change of the mode opens a new lane, whose
// first look at each copy is the one write that hands it over. A copy that is being
// deleted, or that no application on the hub knows, is handed over too: it would
// otherwise be held by a finalizer that nobody is there to remove.
//
// For an application whose status was wiped a lane looks up whether the member's API
// server has its copy; Find returns the result.
//
// # Not
//
// No decision about where an application runs, and no status of it: those are package
// app's. Nothing is written in a member but copies and missing namespaces.
//
// # Trade-offs
//
//   - Who has a copy is written in the copy, and not where the hub and the agent would
//     have to ask each other: one write, which both see by their watch, and which stays
//     true while the other is away. For the moment until both have seen it, both may
//     work on one copy. They render the same from the same facts and write with the same
//     field manager, so that they agree; a status is refused that rests on an older
//     copy; and of a password that both draw in that moment the later one stays, before
//     there is a pod to read it.
//   - Region and provider are in the copy, so that both homes know the same. A copy that
//     an older hub wrote does not have them. It is not written only to add them: a new
//     version of the hub changes nothing that did not change.
//   - Namespaces are made by a plain create. Applying them would take the permission to
//     patch any namespace, and with it what its pods may do.
//   - An object that lost both its UID of the hub and our label is still taken for the
//     copy while it carries the hub's generation. Otherwise it would be in the way of
//     the copy, and be left behind when the application is deleted.
package dispatch
