// Package backup is the controller of Backups. It requests snapshots of the databases' volumes
// from the clouds, observes them, copies them to other regions and deletes them. Databases
// without snapshots are dumped, and the dumps sent to a bucket (package
// hub/data/backup/dump).
//
// # Purpose
//
//	Pending      what is to be backed up is found: application, account, volumes
//	InProgress   snapshots are requested; not all are taken
//	Finalizing   all are taken; data travels, copies are made, a dump is sent
//	Completed    all snapshots and copies are ready, a dump is where it should be
//	PartiallyCompleted
//	             the backup can be restored where it is; a copy failed for good, or the dump is
//	             not in the bucket
//	Failed       a snapshot or the dump itself failed for good, or time is up: a backup of several
//	             volumes is good whole or not at all
//	Deleting     a Restore is waited for; with spec.deletion: Delete, the lock ends, the data goes, and then the object
//
// Each request to a cloud is recorded in the status before it is sent (cloud.Intent), so that a
// hub that dies in between, or a second one, neither repeats nor forgets it.
// Snapshots are named after the Backup, and the Backup after its scheduled time.
//
// A Backup is worked on in the queue of its member: a member or an account that does not
// answer delays no Backup of another member. A Backup whose member rejects a request of the
// hub is retried every five minutes, and one whose member is not connected continues when
// the connection wakes it.
//
// # Non-goals
//
// The package has no schedule and no retention: package hub/data/backup/scheduler creates
// and deletes Backups. In a member it writes only the Jobs of dumps, with their orders. The data
// of a Backup in the cloud is deleted with it only if spec.deletion is Delete, and the file of a
// dump in the cluster never.
//
// # Trade-offs
//
//   - Snapshots have no watch. A Backup that is under way is reconciled every five
//     seconds at first, and every minute when it takes long. The audit compares complete ones with
//     the cloud once an hour (audit.go). It never fails a Backup: what is there again is good again.
//     From the same lists, it counts on the CloudAccount what no Backup names (orphans.go), and deletes
//     nothing of that.
//   - A Backup whose data is locked waits as an object (deletelock.go): everybody sees it, and no mark in the cloud
//     has to be written, found and swept. Its namespace waits, too.
//   - A pass that requests snapshots, or the Job that sends a dump, writes the status at most
//     twice: the intent before, the response after. All other passes write at most once.
//   - A snapshot or copy that fails is deleted and requested again under another name, three times in
//     all. So is a copy that disappears while it is made; a snapshot that does would be of another
//     point in time, and fails the Backup.
//   - A database is not held while its snapshot is taken: both engines recover from any
//     moment of their volume. PostgreSQL writes a checkpoint before each request, so that
//     recovery is short; the pass waits for it, for half a minute at most. The position of the log
//     right before the first request is recorded, with which a Restore compares the data. Where it is not
//     certain that the volume has all up to there, none is.
//   - The primary has the volume: the other pods copy it. A database has one. Several would
//     be a group that is complete together or not at all, but their snapshots are not taken
//     at one instant, and no engine recovers from that.
//   - A snapshot whose tags a user removed no longer belongs to the hub: the backup reports
//     so, and neither uses nor deletes it.
package backup
