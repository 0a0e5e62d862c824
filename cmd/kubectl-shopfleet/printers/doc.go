// Package printers turns objects into the tables that the plugin prints.
//
// # Purpose
//
// Its pure functions turn objects and the time into a metav1.Table, which the table printer
// of cli-runtime aligns as kubectl get does.
//
// # Non-goals
//
// The package has no machine-readable output, since that is the objects themselves, and
// redraws nothing.
//
// # Trade-offs
//
// Every row repeats its region and cluster, so that grep works on a line. A stale component
// is never shown as ready: its phase is Unknown, with the age of the last observation.
package printers
