// Package framework is the one framework of the suites with control planes: a fleet with the
// shipped permissions, processes that run on it, and what became of the applications there.
//
// # Purpose
//
// New starts the fleet and applies the manifests; StartHub and StopHub run hubs one
// after the other, and Run runs whatever else is a process; Register makes members; CLI
// runs kubectl-shopfleet. Create, Edit and Delete change objects as a person would. The
// Await functions block until an object is as wanted. Marks are places in the audit logs,
// from which By returns what a ServiceAccount asked. Steps are subtests with prerequisites.
// Health and Timeouts have outages noticed soon. When an environment ends, package invariants
// searches its audit logs; ExpectDeletes declares what these do not show.
//
// # Non-goals
//
// What only one suite needs stays in that suite, such as a hub without its composition
// root (e2e/members) or binaries that are killed (e2e/processes). The tests inside of the
// hub's packages use package backupenv, which does not import the hub's setup.
//
// # Trade-offs
//
// One fleet serves all subtests of a suite, because it takes longer to start
// than most subtests to run.
package framework
