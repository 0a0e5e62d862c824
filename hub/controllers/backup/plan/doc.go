// Package plan makes Backups when they are due and deletes those that were kept for
// long enough, for each application in each of its clusters.
//
// # What
//
//   - A Backup is named after its slot, and made by a plain create: whoever comes second
//     finds that it is there. Runs that were missed are made up for once.
//   - Applications of the same schedule are spread over a few minutes after the slot.
//   - Retention is hub/schedule's plan over the Backups of an application in a cluster;
//     deleting a Backup deletes its snapshots (package hub/controllers/backup).
//   - The condition BackupReady of the application says whether each cluster has a good
//     backup that is young enough, and what stands in the way.
//
// # Not
//
// Dumps are made and pruned in the member, by its CronJob; they are not planned here, and
// those of the CronJob have no Backups. Backups of dumps that people asked for are deleted by
// the same retention, which leaves the files alone; they count as no snapshot does.
// Backups of an application that is gone, or of a cluster that it has left, are kept:
// nobody's schedule says for how long.
//
// # Trade-offs
//
//   - The hub's cache is the inventory. It is complete when it has synced, and what a
//     person deleted from the hub is found again with backups --rediscover, not here.
//   - Clocks are compared by what Backups say: a point in time of the provider's that
//     lies outside of the pass that asked for it tells how far the clocks are apart.
package plan
