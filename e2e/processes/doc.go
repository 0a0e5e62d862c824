// Package processes holds the tests of the hub and the spoke as processes: the real
// binaries, on fleets of real control planes.
//
// # Purpose
//
// Several processes of the same kind elect a leader, are terminated and killed, and lose
// their Lease. The audit logs count their writes. The tests check metrics, probes, debug
// endpoints, and the contents of logs from outside of the processes.
//
// # Non-goals
//
// The reconciliation of shops is tested in e2e/hub and e2e/spoke, in the tests' own
// process.
//
// # Trade-offs
//
// The subtests share a fleet and its leader. One that runs alone first runs those that it
// needs. Leases are shorter than by default, because several subtests wait until one expires.
package processes
