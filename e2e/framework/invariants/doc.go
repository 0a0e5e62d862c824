// Package invariants finds what must never happen in the audit logs and at the end of a fleet.
//
// # Purpose
//
// Of the audit logs, UnexpectedDeletes returns the deletions by Shopfleet that no user asked
// for, HotLoops what was sent again and again although it fails, Duplicates what was created
// twice, Statuses what went backwards, UnknownReasons the reasons that the runbook lacks, and
// Overlaps the writes of a process after its successor began. Of the state at the end, LostIntents, FalseReady and Leftovers return what does not
// fit together, and Leaks the credentials outside of Secrets. Package framework runs them
// at the end of each suite, whatever that tests.
//
// # Non-goals
//
// It does not know what a test wanted: an outcome that is wrong without a deletion, a
// failure or a duplicate is for the test to find.
//
// # Trade-offs
//
// Audit logs have no bodies, except for statuses. An edit of an application therefore counts
// as a request to delete what belongs to it, for a while, except for copies, StatefulSets,
// Secrets and claims. The deletion of an application does not count as a request to delete its
// claims and credentials, which outlive it. Whatever else is right, such as a move to another cluster or the
// retention of backups, a test declares.
package invariants
