// Package cli tests kubectl-shopfleet against a real fleet and a running hub.
//
// # Purpose
//
// The lifecycle of a member from join to unjoin, the status of an EcommerceApp on
// it, the errors when a member cannot be reached or an object does not exist, and the
// commands for operators: doctor with its archive, diff, render and version. The commands of kubectl that
// pages name are parsed by kubectl itself.
//
// # Non-goals
//
// Flags, tables and exit codes of wrong usage, which need no cluster. Unit tests
// cover them.
//
// # Trade-offs
//
// One fleet for all steps, of which some need others. The program runs inside
// the test, with a kubeconfig file and two streams as its only links to it.
package cli
