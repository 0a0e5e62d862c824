// Package restore is the controller of Restores. It creates volumes from the snapshots of a
// Backup and replaces the database's claims by them, or loads a dump into the database.
//
// # Purpose
//
//	Pending      the controller finds the backup and the target, and checks that they fit
//	InProgress   volumes are created in the cloud, the database is stopped, if there is one,
//	             and its claims are replaced; or what uses the database is stopped, and a
//	             Job loads the dump
//	Starting     the claims are bound or the dump is loaded, and the application starts
//	CleaningUp   a verification or a failed load is taken back
//	Completed    the database is ready, or there is no application there yet
//	Failed       nothing was replaced, and what was stopped runs again
//
// There are three strategies; steps.go lists the steps of each, and each has files of its
// own:
//
//   - snapshot: a Restore goes into the cluster that was backed up or into another one of the
//     same provider and account, in whose region the backup has a snapshot or a copy. If the
//     database has a volume there already, that needs spec.overwrite; the replaced volume
//     is kept, in the cloud and as a PersistentVolume.
//   - logical: a dump goes into a cluster of any provider, once the application is placed
//     there. It is read from the claim that it was made on, else from the bucket. While it
//     is loaded, the database runs and nothing that uses it does.
//   - verification: a database starts beside the application's, in the namespace
//     shopfleet-verify, on a restored volume or empty for a dump. Afterwards it is deleted
//     with its claim and its volume; the namespace stays, because the hub may delete none.
//
// Each step records in the status what it is about to do, in the cloud or as a Job, before
// it does it, so that a hub that starts anew repeats nothing. Restores into one database wait
// for each other by an annotation on the copy (lock.go). Another one records the last Restores
// that have replaced data, so that a hub that is restored from an older backup of etcd does not
// repeat them.
//
// What is known to prevent the making or the attaching of a volume (cloud/csi.RestoreFacts) is asked
// before anything is stopped, and fails the Restore then.
//
// Before a Restore of a dump stops an application, it creates the Job, its claim and its Secret
// in a dry run. What the member rejects then is retried every five minutes; a rejection
// after that fails the Restore, so that the application starts again. A Restore whose
// member is not connected continues when the connection wakes it.
//
// # Non-goals
//
// In a cloud the controller deletes only volumes that this Restore created and no claim is
// bound to, and in a member only what it created there to load or to verify. Backups are not
// changed except for the time of their verification; one that is being restored cannot be
// deleted (package hub/data/backup). Secrets that an application names itself are not
// copied. What Jobs do is in package spoke/render/database/jobs, and what they transfer in
// package hub/data/dumps.
//
// # Trade-offs
//
//   - A PersistentVolume with the handle of the new volume, and a claim that names it: no
//     driver of the member creates anything, and no snapshot kind is needed there. The
//     price is a permission to create volumes in the cloud.
//   - A replaced claim is deleted after its PersistentVolume was set to be retained. A
//     StatefulSet finds its claims by name alone, so that there is no other way.
//   - A volume whose response was lost is found by requesting it once more, because the port
//     has no other way: one that was never created is created then, and deleted.
//   - The classes that the hub creates retain the volumes of deleted claims. So each volume
//     of a verification is set to be deleted with its claim. A claim whose volume is being
//     created is waited for, up to ten minutes: a volume that comes after its claim would
//     stay.
//   - The hub may delete no PersistentVolume. One that refers to a claim that does not exist
//     counts as released, and its driver deletes it.
//   - Generated passwords are neither in backups nor on the hub. When the member that was
//     backed up is lost, so are they, unless they are in a Secret of the application's own.
//     A dump has no users in it, and is loaded by the application's.
//   - Files need the version that they were written by, but for its last number; a dump is
//     read by every newer version.
//   - A load of PostgreSQL is one transaction, and its failure changes nothing. One of MySQL
//     leaves an incomplete database: the status says so, and what uses the database starts
//     all the same, since only a user can decide what is better.
//   - The verification of a volume shows that the engine starts, recovers by its log and
//     serves; a damaged page that is not read is not found. A dump is read to its end, and
//     its checksum compared. Its database gets a volume as large as the application's,
//     because a dump does not say how large it will be.
//   - The member is polled while a Restore is under way, and not watched: pods, claims and
//     volumes of a whole cluster are much to keep for something so rare.
package restore
