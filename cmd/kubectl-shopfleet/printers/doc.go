// Package printers turns objects into the tables that kubectl shopfleet prints.
//
// # Purpose
//
// Pure functions from objects and the time to metav1.Table, which the table
// printer of cli-runtime aligns as kubectl get does.
//
// # Non-goals
//
// No machine-readable output, which is the objects themselves, and no
// redrawing, which is package tty.
//
// # Trade-offs
//
// Every row repeats its region and cluster, so that grep works on a
// line. A stale component is never shown as ready: its phase is Unknown, with the age
// of the last observation.
package printers
