// Package watchtimeouttest tests that the clients of a process end silent watches.
//
// # Purpose
//
// SilentWatchEnds sends a watch through the transport of a configuration, and fails the test
// if the watch does not end while the server is silent.
//
// # Non-goals
//
// The package does not test package watchtimeout, but that a configuration uses it.
//
// # Trade-offs
//
// A synctest bubble supplies the time, so that waiting for 90 s takes none.
package watchtimeouttest
