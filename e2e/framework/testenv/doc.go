// Package testenv provides the environment that suites with a hub share: a fleet with the
// shipped permissions, and a hub that runs in the test's process.
//
// What: New starts the fleet and applies the manifests; StartHub and StopHub run hubs one
// after the other; Register makes members; the Await functions block until the status of
// an object is as wanted; Mark and Since read what the hub asked of a cluster from the
// audit logs.
//
// Not: suites that run the hub as a binary, or without its composition root, start their
// own; see packages e2e/operator and e2e/members.
//
// Trade-offs: one fleet serves all subtests of a suite, because it takes longer to start
// than most subtests to run.
package testenv
