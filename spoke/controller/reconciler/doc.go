// Package reconciler reconciles one kind of applications in one cluster.
//
// # What
//
// Kind is what has to be known of a kind, Member what of a cluster. The reconciler
// does one pass: deletion first, finalizer, annotations, observe, render, plan,
// write, and one status write at the end, also after an error. An object that the kind
// does not select is left alone, also while it is deleted.
//
// # Not
//
// No watches and no queues, which are package controller's; no decision, which
// are package component's.
//
// # Trade-offs
//
//   - After a write the object that the server answered is used until the cache
//     shows a newer one, so that one change is not written twice.
//   - Nothing that counts is kept in memory: what was rolled out, since when something is
//     late, and whether it was ever ready is in the object's status and in the hashes of
//     its children. So an object may come from another home in the middle of anything,
//     and the first look at it writes nothing that is as it should be.
//   - What a person has to mend (a conflict, missing permission, a full quota) is
//     tried again every half minute, as no event tells that it was mended.
//   - A status in which only numbers and messages changed waits up to two seconds
//     for the next one: a rollout is a handful of writes, whatever its size.
package reconciler
