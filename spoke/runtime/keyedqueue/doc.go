// Package keyedqueue keeps controllers that talk to several networks from waiting for one.
//
// # Purpose
//
//   - Keyed runs a controller with its own queue and workers for each key: a member or an
//     account. No key waits for another.
//   - Router hands the requests of the hub's own controllers over to a Keyed.
//
// # Non-goals
//
// The package has no reconciler, and does not know what is reconciled. Package controller runs the
// controllers that end when a cluster is disconnected.
//
// # Trade-offs
//
//   - A queue is made for the first request of its key, whether the member is connected or
//     not, since a backup outlives its member. It is released, with its metrics, when it
//     has been idle for a while; a request that is delayed or retried keeps it.
package keyedqueue
