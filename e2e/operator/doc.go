// Package operator holds the tests of the hub and the spoke as processes: the real
// binaries, on fleets of real control planes.
//
// # Purpose
//
// Several processes of the same kind elect a leader, end when they are told to, are
// killed, and lose their lease. What they wrote, and how often, is read from the
// audit logs. Their metrics, their probes, what can be debugged, and what their logs
// tell and do not tell are looked at from outside.
//
// # Non-goals
//
// What the processes do to shops is tested in e2e/hub and e2e/spoke, in the tests'
// own process.
//
// # Trade-offs
//
// The subtests share a fleet and its leader. One that runs alone runs those first that it
// needs. Leases last as long as in
// production, so that the times are those that people will see.
package operator
