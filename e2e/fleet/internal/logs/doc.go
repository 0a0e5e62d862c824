// Package logs reads the ends of the components' logs.
//
// # Purpose
//
// Tail returns the last lines of a log, Warnings the last warnings and errors. Both are
// short enough for a test's output.
//
// # Non-goals
//
// Logs are not followed, and not parsed further than their level.
//
// # Trade-offs
//
// Only the end of a long log is read. Warnings may miss an old one.
package logs
