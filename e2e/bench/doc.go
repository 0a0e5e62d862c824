// Package bench measures what tests do not assert: how fast the hub is, as a ratio
// to a bare client that does the same without deciding anything. Both are measured
// in one run on one machine, so that the ratio means the same on another.
//
// # Purpose
//
// BenchmarkHub has one figure after the other on one fleet of a hub and three members, or as many as
// are asked for, and prints them as a table; README.md has one. The baselines are clients of
// client-go that watch and react as the hub does: one applies copies, one the children that the hub
// has rendered, one writes statuses, one repairs, and one deletes. Hub and baselines take turns, and
// their times are from the same audit logs.
//
// The last two figures have a hub of their own with fake members (package fakemembers): a few with
// hundreds of shops, and hundreds with a few. TestManyMembers, a part of make test, counts in a small
// fleet what the last one measures.
//
// BenchmarkIsolation: one change of an application to seven healthy members while an eighth
// has a fault, and to four while the other four are frozen and return. The baseline is the
// same without the fault, before and after it. What the return costs is counted. The repair of drift in
// seven members while the hub's own API server is slow is compared likewise.
//
// # Non-goals
//
// The package checks no limits, which would fail on a busy machine, but those of isolation, which
// compares the hub with itself, and counts.
//
// # Trade-offs
//
//   - The baselines write objects of a kind that differs from EcommerceApp in its group only:
//     the hub would act on its own kind. The bytes, the schema and the defaults are the same.
//   - The hub runs as the binary of cmd/hub, so that its processor time and its memory are its
//     own. It serves its profiles without authentication, on a loopback address.
//   - The baselines' user may do everything, but does not belong to system:masters, which is exempt
//     from API priority and fairness.
//   - The children of the baseline are those of the hub as the members' API servers return them, with
//     all defaults, and so a little larger than those that the hub sends.
//   - Statuses are those of a Deployment whose pod is no longer ready. The hub writes the status of the copy
//     at the same time as that of the application, and the bare patcher only the latter.
//   - The bare writer of children applies all at once, and does not wait for what a component needs.
//     One in order does, as the hub has to: between the two is the price of the order.
//   - No metric shows when a hub has found out everything after a restart. The end is taken
//     to be when it uses no more processor time.
package bench
