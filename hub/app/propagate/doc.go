// Package propagate writes the Secrets and ConfigMaps of an application to its clusters, beside the copies.
//
// # Purpose
//
// The Dispatcher reads sources on the hub, in a queue of its own, and runs a MemberQueue for each connected member, so
// that neither a read on the hub nor a propagated object delays a copy. A MemberQueue is woken by each result about a
// copy (package copies), by a source that has changed, and by the watch on what it wrote. It writes what the copy lists,
// once the copy is as the present order says, and deletes what the copy lists and the application does not. Beside a copy
// that is refused, it goes on with what the copy lists already. Its result is kept in package state; package copies
// observes it with that about the copy.
//
// Package apply sends, adopts and deletes the objects, as it does others; objects.go decides what is to be done about one
// of them, for writes, for what a pause holds back and for a Plan, which DryRun answers.
//
// # Non-goals
//
// The package does not find out what a spec refers to: users list it, because the list is also their consent. It reads
// and writes no copy, and no status.
//
// # Trade-offs
//
//   - An object is copied with its type and data. Labels and annotations stay on the hub: other
//     controllers act on them. So does immutable, which would keep the copy from following a
//     source that was created again.
//   - A version is a hash of the content, and not the resource version, so that metadata that changes
//     costs no request to members. It stays in the memory of the hub: a hash of a short password
//     gives it away. A hub that starts reads each object in the member once.
//   - A member reads the content of a source when it lacks it: no memory has it.
//   - Nothing watches the sources, nor what was propagated to a member with an agent: that would take the
//     permission to list Secrets. Sources are read again every five minutes.
//   - What cannot be read on the hub stays as it is in the members, and so does the condition until all was read once.
//   - Applications of one namespace may list the same object. It then has an owner reference to the
//     copy of each, and is deleted with the last.
//   - Tokens of ServiceAccounts and of nodes that join are credentials of the hub's cluster, and
//     releases of Helm make helm believe that it installed something in the member: they are refused
//     by their type, because names say little.
package propagate
