// Package logs reads the ends of the components' logs.
//
// What: Tail returns the last lines of a log, Warnings the last ones that warn or
// fail. Both are short enough for a test's output.
//
// Not: logs are not followed, and not parsed further than their level.
//
// Trade-offs: only the end of a long log is read. Warnings may miss an old one.
package logs
