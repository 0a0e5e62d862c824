// Package scheduler creates Backups on schedule and deletes expired ones, for each
// application in each of its clusters.
//
// # Purpose
//
//   - A Backup is named after its scheduled time and created without overwriting: a second
//     attempt finds the existing object. After missed runs, one Backup is created.
//   - Snapshots of applications with the same schedule are spread over a few minutes
//     after the scheduled time. Dumps are made by the CronJob in the member, at the
//     scheduled time: the Backup is created two minutes later and adopts the CronJob's
//     Job, or creates one if there is none.
//   - Retention applies the result of hub/data/retention to the Backups of an application in a
//     cluster. It sets spec.deletion: Delete on a Backup and then deletes it, so that its
//     data is deleted too (package hub/data/backup). No other deletion of a Backup
//     deletes data.
//   - Retention goes on after an application, its backups or its time in a cluster have ended: with the retention of
//     its spec, or once it is gone of its newest Backup. When the newest successful Backup has passed keepDays, keepLast
//     counts as 1: the newest successful one of each method, and in each place, and the newest verified one stay.
//   - The condition BackupReady of the application reports whether each cluster has a
//     sufficiently recent backup in each place where it should be, which can be restored, and
//     why not. It is Unknown, not True, while a cluster waits for its first backup, or a place
//     for the newest one.
//   - While the database is lost in a cluster, no Backup of it is created, and none is deleted.
//
// # Non-goals
//
// The files of dumps are pruned in the member, by its CronJob, with the same retention.
// Pruning a Backup here deletes its objects in the bucket. Snapshots and dumps do not
// replace each other, and snapshots that were made before a cluster switched to dumps
// are kept while the application is in the cluster. Backups of an application that is gone are kept if none of them has its retention.
//
// # Trade-offs
//
//   - The hub's cache has all Backups once it is synced. Backups that a user
//     deleted from the hub are found by kubectl shopfleet backup rediscover, not here.
//   - Schedule, method and retention are those of the present spec, also where a cluster has an earlier revision: the
//     hub carries them out, and a rollout that is held back must hold back no backup. A dump waits for the CronJob of a
//     revision that has backups.
//   - Nothing is pruned while the clocks of the hub and of a provider differ by more than
//     five minutes, nor any Backup of a provider whose clock skew has been unknown for
//     two hours. A dump that exists on its claim only has no provider: pruning deletes
//     the Backup only, and is blocked only by a snapshot time in the future.
//   - Nothing is pruned while a cluster has a newer state of the application than the hub,
//     which was restored from an older backup then: its retention may be older, too. No
//     Backup of a cluster is pruned while the cluster is away and cannot be compared.
package scheduler
