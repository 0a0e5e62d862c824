// Package commands is the command line of kubectl-shopfleet.
//
// What: the commands join, unjoin, clusters, status and version, their flags,
// completion and output, and the exit codes: 0 done, 1 failed, 2 wrong usage, 3 not
// ready in the given time, 130 interrupted.
//
// Not: no decision about members (package join), no layout (package printers), and
// nothing that plain kubectl does as well: shops are applied and deleted with it.
//
// Trade-offs: tables and results go to the standard output, progress and advice to
// the standard error, so that scripts can read the one and people see both. Two
// clients talk to the hub: requests have a deadline, watches must not.
package commands
