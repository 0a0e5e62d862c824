// Command lab removes what tests on kind left.
//
// What: "lab down" deletes the clusters of make e2e-kind.
//
// Not: the demo's clusters are the demo's.
//
// Trade-offs: none; the work is package lab's.
package main
