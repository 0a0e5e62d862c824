// Package agent holds the tests of members that have an agent, on a fleet of real API
// servers and schedulers: the hub and the agents as their processes compose them, with
// the permissions that ship.
//
// # Purpose
//
// One shop on a member without an agent and on one with, and what an outage of
// the hub, an outage of an agent, restarts, switches of the mode and deletion do to it,
// counted in the API servers' audit logs.
//
// # Non-goals
//
// Other suites test the objects of an application (e2e/spoke), the hub's decisions (e2e/hub)
// and real containers (e2e/kind).
//
// # Trade-offs
//
// Hub and agents run in the test's process, each with a kubeconfig of its
// own account. They end as processes do that are told to; that one is killed differs in
// a Lease that is not given back, which the unit tests of hub/members/health cover.
package agent
