// Package members holds the tests of registration, health and detachment of member
// clusters, on a fleet of real control planes.
//
// # Purpose
//
// A hub process made of hub/members and hub/members/controller, as the hub's
// setup composes it, with the permissions that ship. The tests make Secrets, freeze and
// thaw clusters, and read MemberClusters and audit logs.
//
// # Non-goals
//
// Nothing is placed; applications are only counted.
//
// # Trade-offs
//
// One fleet, and mostly one hub process, serve all tests. Each test leaves
// no registration behind, and waits until the one before has left none.
package members
