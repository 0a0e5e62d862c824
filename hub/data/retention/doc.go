// Package retention decides how old backups may be and which of them are deleted.
//
// # Purpose
//
//   - Prune: given a catalog of backups and a policy, returns the backups to keep and to delete,
//     with a reason for each.
//   - RPO: the age of the newest backup, and whether it exceeds a limit.
//
// # Non-goals
//
// The package uses no client, no clock and no randomness: the same input gives the same result. Package
// hub/data/schedule decides when backups are due.
//
// # Trade-offs
//
//   - Prune errs on the side of keeping. One entry that cannot be trusted (a snapshot
//     time in the future, a duplicate name) blocks all deletions until a user resolves
//     it, and the result reports which. The newest successful backup of each method is
//     never deleted, but for one that expires after the end. The number of backups to keep counts in each wanted place on its own, so
//     that backups that are missing in a place let none go that is there.
//   - One result deletes the longest expired backups first. If it went by age alone, a failed
//     backup could displace a successful one from a later result.
package retention
