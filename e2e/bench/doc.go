// Package bench measures what tests do not assert: how fast the hub is, as a ratio
// to a bare client that does the same without deciding anything. Both are measured
// in one run on one machine, so that the ratio means the same on another.
//
// # Purpose
//
// BenchmarkFanOut: one shop to three members, from its creation on the hub until
// each member has its copy. The baseline is a loop of client-go's server-side apply
// over the same members that writes the same bytes: the shop, and for each member
// the namespace and the copy.
//
// BenchmarkIsolation: one change of an application to seven healthy members while an eighth
// has a fault, and to four while the other four are frozen and return. The baseline is the
// same without the fault, before and after it. What the return costs is counted.
//
// # Non-goals
//
// The package checks no limits, which would fail on a busy machine, but those of isolation: it
// compares the hub with itself, and counts requests.
//
// # Trade-offs
//
// The baseline runs before the hub does, because the hub would act on what the
// baseline writes. The hub does more than the loop: it adds its finalizer, writes
// its inventory, looks for objects that are not its own before it writes, and
// begins to run the shop in each member meanwhile.
package bench
