// Package commands tests kubectl-shopfleet against a real fleet and a running hub.
//
// What: the life of a member from join to unjoin, the status of a shop on it, and
// what people are told when a member cannot be reached.
//
// Not: flags, tables and exit codes of mistakes, which need no cluster; they are
// tested beside the code.
//
// Trade-offs: one fleet and one order for all, since each step needs the one before.
// The program runs inside the test, with a kubeconfig file and two streams as its
// only links to it.
package cli
