// Package kind tests the whole product as users run it: installed on kind clusters by
// the commands of hub/README.md, with real containers, databases and customers.
//
// # Purpose
//
// One fleet, a hub and two members, one in each mode, and subtests on it. README.md of the
// folder above lists what each subtest shows in which mode.
//
// # Non-goals
//
// Nothing that simulated nodes can show as well; package e2e/hub and others test that in
// seconds.
//
// # Trade-offs
//
// The subtests share the fleet and its shop, because starting them costs more than most
// subtests: each leaves the shop running as it found it, but for the last one, which deletes
// a cluster. With SHOPFLEET_KIND unset the tests skip; make e2e-kind sets it.
package kind
