// Package scheduler makes Backups when they are due and deletes those that were kept for
// long enough, for each application in each of its clusters.
//
// # What
//
//   - A Backup is named after its scheduled time, and made by a plain create: whoever comes second
//     finds that it is there. Runs that were missed are made up for once.
//   - Snapshots of applications of the same schedule are spread over a few minutes after
//     the scheduled time. Dumps are made by the CronJob in the member, at the scheduled time: the Backup comes
//     two minutes later, finds the CronJob's Job, and makes it where there is none.
//   - Retention is hub/schedule's plan over the Backups of an application in a cluster. It sets
//     spec.deletion: Delete on a Backup and then deletes it, so that its data goes as well
//     (package hub/controllers/backup). No other deletion of a Backup deletes data.
//   - The condition BackupReady of the application says whether each cluster has a good
//     backup that is young enough, and what stands in the way. It is Unknown, not True, while
//     a cluster waits for its first one.
//
// # Not
//
// The files of dumps are pruned in the member, by its CronJob and by the same retention; a
// Backup that is pruned here takes what is in the bucket along. Where a cluster is backed up
// by snapshots no dump stands in for one, nor the other way round, and snapshots from before
// a cluster was dumped are kept.
// Backups of an application that is gone, or of a cluster that it has left, are kept:
// nobody's schedule says for how long.
//
// # Trade-offs
//
//   - The hub's cache is the inventory. It is complete when it has synced, and what a
//     person deleted from the hub is found again with backups --rediscover, not here.
//   - Nothing is pruned while the clocks of the hub and of a provider differ by more than five
//     minutes, and no Backup whose provider has not told the time for two hours. A dump
//     that is on its claim alone has no provider: pruning deletes nothing but its Backup, and
//     is held only by a point in time in the future.
package scheduler
