// Package printers turns objects into the tables that people read.
//
// What: pure functions from a MemberCluster or an EcommerceApp, and the time, to
// headers and rows; and an aligned writer for them.
//
// Not: no machine-readable output, which is the objects themselves, and no
// terminal: who redraws a table is the command.
//
// Trade-offs: every row repeats its region and cluster, so that grep works on a
// line. Nothing stale is shown as ready: its phase is Unknown, with the age of what
// is known.
package printers
