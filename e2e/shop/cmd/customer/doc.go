// Command customer orders at a shop's pages, again and again, as customers do.
//
// # Purpose
//
// It puts package customer together by flags, and ends with SIGTERM or after a number of
// orders. Its output is one JSON line for each order and a summary.
//
// # Non-goals
//
// It does not decide how many failures are too many.
//
// # Trade-offs
//
// It exits with 0 even after failures, since its output reports them.
package main
