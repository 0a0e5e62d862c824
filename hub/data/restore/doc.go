// Package restore is the controller of Restores. It creates volumes from the snapshots of a
// Backup and replaces the database's claims by them, or loads a dump into the database.
//
// # Purpose
//
//	Pending      backup and target are found and compared
//	InProgress   volumes are created, the database is stopped and its claims are replaced; or
//	             what uses the database is stopped, and a Job loads the dump
//	Starting     the claims are bound or the dump is loaded, and the application starts
//	CleaningUp   a verification or a failed load is taken back
//	Completed    the database is ready, or there is no application there yet
//	Failed       nothing was replaced, and what was stopped runs again
//
// There are three strategies, each with files of its own; steps.go lists their steps:
//
//   - snapshot: into the cluster that was backed up, or another one of the same provider and account
//     in whose region there is a snapshot or a copy. An existing volume is replaced only with
//     spec.overwrite, and kept, in the cloud and as a PersistentVolume.
//   - logical: a dump goes into a cluster of any provider, from the claim that it was made on, else
//     from the bucket. While it is loaded, the database runs and nothing that uses it does.
//   - verification: a database starts in the namespace shopfleet-verify, on a restored volume or empty
//     for a dump, and is deleted afterwards with its claim and its volume.
//
// Each step records in the status what it is about to do in the cloud or as a Job: a hub that starts
// anew repeats nothing. Restores into one database wait for each other by an annotation on the copy
// (lock.go); another one records the last Restores that have replaced data, so that a hub that is
// restored from an older backup of etcd does not repeat them. Before anything is stopped, the Restore
// fails or waits if it is known that the volume or the Job cannot be created.
//
// # Non-goals
//
// In a cloud the controller deletes only volumes that this Restore created and no claim is bound to,
// and in a member only what it created there, but no namespace. Backups are not changed except for the
// time of their verification. Secrets that an application names itself are not copied.
//
// # Trade-offs
//
//   - The hub creates a PersistentVolume with the handle of the new volume, and a claim that names it:
//     no driver and no snapshot kind is needed in the member. The price is a permission to create
//     volumes in the cloud.
//   - A StatefulSet finds its claims by name alone, so that a replaced claim has to be deleted.
//   - Generated passwords are neither in backups nor on the hub: they are lost with the member, unless
//     they are in a Secret of the application's own. A dump has no users in it.
//   - A load of PostgreSQL is one transaction. A failed one of MySQL leaves an incomplete database: the
//     status says so, and what uses it starts all the same, since only a user can decide.
//   - The member is polled and not watched: pods, claims and volumes of a whole cluster are much to
//     keep for something so rare.
package restore
