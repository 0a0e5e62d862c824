// Package hub holds the tests of the hub on fleets of real control planes.
//
// # What
//
// The hub runs in the test's process, composed as in cmd/hub, with the permissions
// that config/rbac ships and nothing more. One fleet of a hub and three members
// lives through one long story: creation, restart, edits, moves, outages, detachment,
// deletion. What the hub wrote, and how often, is read from the audit logs.
//
// # Not
//
// Decisions are tested where they are made: hub/placement, hub/aggregate.
//
// # Trade-offs
//
// The chapters of the story build on each other and run in order, since a fleet
// takes longer to start than a chapter to run. Each says what it needs of the former.
package hub
