// Package operator holds the tests of the hub and the spoke as processes: the real
// binaries, on fleets of real control planes.
//
// # What
//
// Several processes of the same kind elect a leader, end when they are told to, are
// killed, and lose their lease. What they wrote, and how often, is read from the
// audit logs. Their metrics, their probes, what can be debugged, and what their logs
// tell and do not tell are looked at from outside.
//
// # Not
//
// What the processes do to shops is tested in e2e/hub and e2e/spoke, in the tests'
// own process.
//
// # Trade-offs
//
// The chapters of a story build on each other and run in order, since a fleet and a
// lease that expires take longer than a chapter. Leases last as long as in
// production, so that the times are those that people will see.
package operator
