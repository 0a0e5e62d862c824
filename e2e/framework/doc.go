// Package framework sees for tests what happened to fleets and to the shops on them.
//
// What: Admin is an administrator's client of a cluster, Marks are places in the audit
// logs of a fleet, Log is where hubs in a test write to, Probe asks a process how it
// is, Health and Timeouts have outages noticed soon, and the rest reads the status of
// applications.
//
// Not: nothing is started, and no state is waited for; see packages fleettest and testenv.
//
// Trade-offs: what only one suite looks at stays in that suite.
package framework
