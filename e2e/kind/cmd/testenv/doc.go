// Command lab prepares the tests on kind, and removes what they left.
//
// What: "lab check" says whether kind can be used on this machine, and why not.
// "lab down" deletes the clusters of make e2e-kind.
//
// Not: the demo's clusters are the demo's.
//
// Trade-offs: none; the work is that of packages clusters and lab.
package testenv
