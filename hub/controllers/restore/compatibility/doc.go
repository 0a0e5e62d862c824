// Package compatibility decides whether a backup fits where it is to be restored, and which part of
// it is taken.
//
// # What
//
//   - Files and Dump: whether an engine can work with what is in a backup.
//   - SnapshotIn, Zone and Size: what a volume is made from, where, and how large; Drill:
//     how large the one is that a dump is proven with.
//
// # Not
//
// Functions of values alone: nothing is read and nothing is changed.
//
// # Trade-offs
//
//   - Files need the very version that they were written by, but for its last number; a
//     dump is read by every newer one. What an engine itself refuses of a dump shows when
//     it is loaded.
package compatibility
