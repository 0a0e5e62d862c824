// Package commands implements the command line of kubectl-shopfleet.
//
// # Purpose
//
// Each command has a file with its flags, its output and the order of its steps. The
// commands share connections (cluster.go), flags with the meanings of kubectl (flags.go),
// progress (progress.go), output formats (output.go), lists (list.go), completion and exit
// codes (exit.go), which are one rule for all. The README of the plugin is made from them.
//
// # Non-goals
//
// Packages join and manifests define what is written to clusters, and package printers
// the tables. No command does what plain kubectl does as well.
//
// # Trade-offs
//
// Results go to the standard output, progress and hints to the standard
// error, so that scripts read the one and users see both. Two clients talk to each
// cluster: requests have a deadline, watches must not. An interrupted backup or
// restore is left to the hub, because half of one is of no use.
package commands
