// Command testenv prepares the tests on kind, and removes what they left.
//
// # Purpose
//
// "testenv check" reports whether kind can be used on this machine. "testenv down" deletes
// the clusters of make e2e-kind.
//
// # Non-goals
//
// The demo's clusters are the demo's.
//
// # Trade-offs
//
// None; the work is that of packages clusters and testenv.
package main
