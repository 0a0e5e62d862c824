// Package kind tests the whole product as users run it: installed on kind clusters by
// the commands of hub/README.md, with real containers, databases and customers.
//
// What: one fleet, a hub and two members, one in each mode, and subtests on
// it. Each says what it proves for which mode; README.md of the folder above
// has the table.
//
// Not: nothing of what simulated nodes prove as well, which package e2e/hub and its
// neighbours do in seconds.
//
// Trade-offs: the subtests share the fleet and its shop, because starting them costs
// more than most subtests: each leaves the shop running as it found it. With
// SHOPFLEET_KIND unset the tests skip; make e2e-kind sets it.
package kind
