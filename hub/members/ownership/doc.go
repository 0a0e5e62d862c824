// Package ownership defines what the hub stores in each of its members: which hub manages
// the member, and which applications were deleted or left it.
//
// # Purpose
//
//   - Record is the content of one ConfigMap in the member. It outlives the hub: a hub that
//     was restored from a backup of its etcd finds in the member what it does not know any
//     more.
//   - Check decides whether a hub may manage the member, and Claim what it writes when it
//     takes over.
//
// # Non-goals
//
// The package reads and writes nothing: package connect does.
//
// # Trade-offs
//
//   - A record that lost its hub by an edit is another hub's, except for the process that
//     claimed it, which restores it: no hub takes over without approval what may have one. Of
//     a record without any key, or none at all, nothing tells that it had one.
//   - The epoch counts takeovers in the member and not on the hub, where a restore would
//     set it back.
//   - A process knows its claim by a random ID and not by the epoch alone: the member may have
//     stored a claim whose response was lost, and the process knows only its epoch before.
//   - Applications that were deleted, or left the member, are kept for 30 days, at most
//     1000, the youngest: a hub that is restored from an older backup may create the copies
//     of older ones again. They take about 60 KB then.
package ownership
