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
// Packages join and installer define what is written to clusters, and package printers the tables. What plain
// kubectl does as well has no command, but for lists whose columns need more than one kind.
//
// # Trade-offs
//
// Results go to the standard output, progress and hints to the standard
// error, so that scripts read the one and users see both. Two clients talk to each
// cluster: requests have a deadline, watches must not. An interrupted backup or
// restore is left to the hub, because half of one is of no use.
//
// Completion is our own: that of k8s.io/kubectl takes its factory from a package variable, and knows none of our
// arguments.
package commands
