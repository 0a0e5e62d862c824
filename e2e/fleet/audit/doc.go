// Package audit reads the audit log of an API server.
//
// # Purpose
//
// The log as typed events, with filters and counts, so that a test can state how many writes
// something may cost. It is a second history of what happened, kept by the server and not by
// the program under test.
//
// # Non-goals
//
// It decides nothing about what is logged; the fleet's audit policy does.
//
// # Trade-offs
//
// A log is read whole into memory. Logs of tests are small, and a slice is easy to filter.
// Mark and Read skip what came before.
package audit
