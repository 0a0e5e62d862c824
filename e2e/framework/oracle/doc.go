// Package oracle finds what must never happen in the audit logs of a fleet.
//
// # Purpose
//
// UnexpectedDeletes returns the deletions by Shopfleet that no user asked for, HotLoops what was
// sent again and again although it fails, and Duplicates what was created twice. Package
// framework runs them at the end of each suite, whatever that tests.
//
// # Non-goals
//
// It does not know what a test wanted: an outcome that is wrong without a deletion, a
// failure or a duplicate is for the test to find.
//
// # Trade-offs
//
// Audit logs have no bodies. An edit of an application therefore counts as a request
// to delete what belongs to it, for a while, except for claims. Whatever else is right,
// such as the retention of backups, a test declares.
package oracle
