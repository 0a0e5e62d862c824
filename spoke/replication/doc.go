// Package replication decides from observations which replicas of a PostgreSQL database follow their
// primary, and which have to copy its data again. Replicas of MySQL are not observed.
//
// # Purpose
//
// ParsePrimary and ParseReplica read what the commands of package spoke/render/database print,
// Primary.Decide returns the state of each replica, Pod.Rebuild which of them copy the primary's data
// again, and Observation.ValidFor when to observe them again.
//
// # Non-goals
//
// The package promotes no replica. It removes no data: the start of a replica does, after a check of
// its own (package spoke/render/database). It uses no client, clock or randomness.
//
// # Trade-offs
//
// A replica is lost only when the primary no longer has the WAL that it needs next, and has all that
// the replica has. Whatever else keeps it from streaming, such as a network that is partitioned, may
// pass. One with other data than the primary's stays for good: only a user knows which of them counts.
// So does one that was lost on an older timeline, although the primary may have all of it: timelines
// change only by the hand of a user.
//
// Whether a replica streams is what it says itself, not the primary, which knows replicas by addresses
// that a network may translate. The lag is the longer one of what both say.
package replication
