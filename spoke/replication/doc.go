// Package replication decides from observations which replicas of a database follow their primary,
// and which have to copy its data again.
//
// # Purpose
//
// ParsePrimary and ParseReplica read what the commands of package spoke/render/database print, and
// Decide returns the state of each replica.
//
// # Non-goals
//
// The package promotes no replica, and does not decide about a replica that does not recover: a
// user may have promoted it. It uses no client, clock or randomness.
//
// # Trade-offs
//
// A replica is lost only when the primary no longer has the WAL that it needs next. Whatever else
// keeps it from streaming, such as a network that is partitioned, may pass.
package replication
