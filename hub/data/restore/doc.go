// Package restore is the controller of Restores. It has the CSI driver of a member make volumes from the
// snapshots of a Backup and replaces the database's claims by them, or loads a dump into the database.
//
// # Purpose
//
//	Pending      backup and target are found and compared
//	InProgress   volumes are made, the database is stopped and its claims are replaced; or what uses
//	             the database is stopped, and a Job loads the dump
//	Starting     the claims are bound or the dump is loaded, and the application starts
//	CleaningUp   a verification or a failed load is undone
//	Completed    the database is ready, or there is no application there yet
//	Failed       nothing was replaced, or it was put back, and what was stopped runs again
//
// There are three strategies, each with files of its own; steps.go lists their steps:
//
//   - snapshot: into the cluster that was backed up, or another one of the same provider and account
//     in whose region there is a snapshot or a copy. Import makes a VolumeSnapshotContent with the ID
//     of the snapshot, a VolumeSnapshot, a claim, and a Job that opens the data and gives it a new
//     identity, while the application runs. Then the database is stopped and its claims are
//     replaced. An existing volume is replaced only with spec.overwrite, and kept, in the cloud and as
//     a PersistentVolume.
//   - logical: a dump is loaded in a cluster of any provider, from the claim that it was made on, or
//     from the bucket. Meanwhile the database runs, and everything that uses it is stopped.
//   - verification: in the namespace shopfleet-verify the Job of an imported volume reads all of the data, or an empty
//     database loads a dump. It is deleted afterwards with its claim and its volume.
//
// Steps before Retire can be undone. From its beginning on a Restore is seen through: without its claim the
// database would start empty. One that cannot go on from there, or waits for too long, is Stalled, and a user can
// have the replaced volumes put back (putback.go), also when it is complete or being deleted; once begun, that is
// seen through as well. The status records what is replaced before it is deleted. An annotation on the copy
// (lock.go) is a lock of the database; another one records the last Restores that have replaced data, so that a
// hub that is restored from an older backup of etcd does not repeat them.
//
// # Non-goals
//
// The controller requests nothing from a cloud: the driver decides on zone, tags, group and key of a volume.
// In a member it deletes what it created, except namespaces, and the claims that it replaces, whose volumes
// stay. In Backups it writes what their verification found only. It copies no Secrets.
//
// # Trade-offs
//
//   - A member needs the kinds of VolumeSnapshots, their controller and the driver's sidecar. A Restore
//     that lacks them waits before anything is stopped.
//   - A StatefulSet finds its claims by name. The volume of an import is therefore bound a second time,
//     under the name of the replaced claim, and not made a second time: that could fail when there is
//     no way back.
//   - The copies of credentials stay in their clusters. Where the application has none, those that the spoke generates are
//     set in the imported data at its first start: an annotation of the claim allows it.
//   - A load of PostgreSQL is one transaction. A failed one of MySQL leaves an incomplete database: the
//     status says so, and what uses it starts all the same, since only a user can decide.
//   - The member is polled, not watched: a cache of all its pods, claims and volumes would be too large for a
//     rare operation.
package restore
