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
//   - logical: a dump is loaded in a cluster of any provider, from the claim that it was made on, or
//     from the bucket. Meanwhile the database runs, and everything that uses it is stopped.
//   - verification: a database starts in the namespace shopfleet-verify, on a restored volume or empty
//     for a dump, and is deleted afterwards with its claim and its volume.
//
// Each step records in the status what it is about to do in the cloud or as a Job, so that a restarted hub
// repeats nothing. An annotation on the copy (lock.go) is a lock of the database; another one records the
// last Restores that have replaced data, so that a hub that is restored from an older backup of etcd does not
// repeat them. If the volume or the Job cannot be created, the Restore fails or waits before it stops anything.
//
// # Non-goals
//
// In a cloud the controller deletes only volumes that this Restore created and that no claim is bound to,
// and in a member only what it created, except namespaces. In Backups it writes the time of their
// verification only. It does not copy Secrets that an application names itself.
//
// # Trade-offs
//
//   - The hub creates a PersistentVolume with the handle of the new volume, and a claim that names it:
//     no driver and no snapshot kind is needed in the member. The price is a permission to create
//     volumes in the cloud.
//   - A StatefulSet finds its claims by name, so a replaced claim has to be deleted.
//   - Generated passwords are neither in backups nor on the hub, and are lost with the member. A dump has no users.
//   - A load of PostgreSQL is one transaction. A failed one of MySQL leaves an incomplete database: the
//     status says so, and what uses it starts all the same, since only a user can decide.
//   - The member is polled, not watched: a cache of all its pods, claims and volumes would be too large for a
//     rare operation.
package restore
