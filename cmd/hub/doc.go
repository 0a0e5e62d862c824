// Command hub runs shops on a fleet of clusters.
//
// # Purpose
//
// The command parses flags and calls package hub/setup. It exits with 0 after SIGTERM or
// an interrupt, and with 1 if it could not start or lost its Lease.
//
// # Non-goals
//
// Nothing is decided or composed here.
//
// # Trade-offs
//
// A lost Lease ends the process, so that nothing in it can write beside the next leader.
// Its Deployment restarts it.
package main
