// Package testenv provides the environment of the suites with control planes: a fleet with
// the shipped permissions, and processes that run on it.
//
// What: New starts the fleet and applies the manifests; StartHub and StopHub run hubs one
// after the other, and Run runs whatever else is a process; Register makes members; CLI
// runs kubectl-shopfleet. Create, Edit and Delete change objects as a person would. The
// Await functions block until an object is as wanted. Mark and Since read what the hub
// asked of a cluster from the audit logs. Steps are subtests with prerequisites.
//
// Not: what only one suite needs stays in that suite, such as a hub without its
// composition root (e2e/members) or binaries that are killed (e2e/operator).
//
// Trade-offs: one fleet serves all subtests of a suite, because it takes longer to start
// than most subtests to run.
package testenv
