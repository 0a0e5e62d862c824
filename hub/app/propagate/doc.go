// Package propagate decides what of the Secrets and ConfigMaps of an application is copied to its
// clusters.
//
// # Purpose
//
// Refused rejects what must not leave the hub, Version returns what differs when an object changed, ForCopy
// returns the object to write in a member, and Condition describes to users what the hub cannot
// read. Leftover finds what is to be deleted because spec.propagate no longer lists it.
//
// # Non-goals
//
// The package reads and writes nothing: package copies does. It does not find out what a spec
// refers to: users list it, because the list is also their consent.
//
// # Trade-offs
//
//   - An object is copied with its type and data. Labels and annotations stay on the hub: other
//     controllers act on them. So does immutable, which would keep the copy from following a
//     source that was created again.
//   - A version is a hash of the content, and not the resource version, so that metadata that changes
//     costs no request to members. It stays in the memory of the hub: a hash of a short password
//     gives it away.
//   - Applications of one namespace may list the same object. It then has an owner reference to the
//     copy of each, and is deleted with the last.
//   - Tokens of ServiceAccounts and of nodes that join are credentials of the hub's cluster, and
//     releases of Helm make helm believe that it installed something in the member: they are refused
//     by their type, because names say little.
package propagate
