// Package faults injects faults between a client and one Kubernetes API server.
//
// # Purpose
//
// Start runs a Proxy in front of an API server, and Kubeconfig points a kubeconfig to it.
// The proxy terminates TLS, speaks HTTP/1.1 and HTTP/2, forwards the caller's bearer token,
// and keeps a journal of every request. Inject adds a Fault: a Match that chooses requests
// by verb, object, user agent and count, and an Action: delay, blackhole, reset, trickle,
// a lost response, an error of the API, a LIST that is older than the present, or a watch
// whose events are held or swallowed while its stream stays open. Partition stops every
// byte in both directions, pings included.
//
// The tests of this package are the suite of a hub and two members behind proxies. The table
// in e2e/README.md lists the classes of faults and the tests that cover each of them.
//
// # Non-goals
//
// Faults of processes are package fleet's: Kill, Freeze and Restart. Client certificates
// cannot pass a proxy that terminates TLS: callers have tokens.
//
// # Trade-offs
//
// A fault at the wire needs no change in the program under test, and is the same for the
// hub, for an agent and for any other client. What happens between two statements of
// a program is invisible here.
package faults
