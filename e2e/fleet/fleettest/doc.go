// Package fleettest starts fleets for tests.
//
// # Purpose
//
// Start ties a fleet to a test, Eventually waits for conditions, and Deny has a policy deny
// objects of a kind. A failed test shows which components are gone and the last warnings in
// their logs; with SHOPFLEET_KEEP set, it leaves all data and logs and says where.
//
// # Non-goals
//
// The package has no assertions, and no clients: tests create the ones that they need.
//
// # Trade-offs
//
// A fleet takes seconds to start. Share one among the tests of a package that do not harm
// it, by way of subtests.
package fleettest
