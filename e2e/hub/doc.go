// Package hub holds the tests of the hub on fleets of real control planes.
//
// # Purpose
//
// The hub runs in the test's process, composed as in cmd/hub, with the permissions
// that config/rbac ships and nothing more. Its waits are a tenth of the real ones, which
// tests in their packages pin. What the hub wrote, and how often, is read from the audit logs.
//
// # Non-goals
//
// Decisions are tested where they are made: hub/app/placement, hub/app/aggregate.
//
// # Trade-offs
//
// The subtests of a test share a fleet, and those of TestHub a shop, because these take longer to start than most
// subtests to run. Each creates the shop where it is missing, and so runs alone. The tests run side by side:
// one that waits for outages and rollouts uses a fifth of two cores.
package hub
