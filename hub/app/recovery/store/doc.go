// Package store reads and writes the records of package recovery in the hub's namespace.
//
// # Purpose
//
// Store has one ConfigMap for each member. The hub adds records when it releases
// applications and removes them when the copies are deleted; the kubectl plugin adds those
// of orphans that a user wants to be deleted.
//
// # Non-goals
//
// The package writes nothing to members.
//
// # Trade-offs
//
// Records are merge-patched and not applied: each has a writer of its own, and none of them
// knows all records.
package store
