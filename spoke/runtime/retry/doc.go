// Package retry decides when a controller tries again.
//
// # Purpose
//
//   - Conflicts turns the policy of package apierror into the result of a reconciler, and
//     lets the wait grow while conflicts repeat.
//   - UntilNext paces writes of which there is to be one in a period. Progress limits how often statuses that only report
//     progress are written: that of each object, and those of all objects.
//   - Sooner chooses between two waits, and MergeFromLocked makes the patches that end in a conflict.
//   - Jitter spreads attempts, so that what failed together does not come back together, and
//     Waits shortens them for tests.
//
// # Non-goals
//
// The package has no queue, and does not know what is reconciled.
//
// # Trade-offs
//
//   - Conflicts counts by request, and forgets a request at its first attempt without a
//     conflict: a request that is never tried again stays counted.
package retry
