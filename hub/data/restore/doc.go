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
// There are three strategies; steps.go lists their steps:
//
//   - snapshot: into the cluster that was backed up, or another one of the same provider and account
//     in whose region there is a snapshot or a copy. While the application runs, Import has a volume made, and a
//     Job open its data and give it a new identity. Then the database is stopped and its claims are
//     replaced, and those of replicas deleted, which copy the data again. An existing volume is
//     replaced only with spec.overwrite, and kept.
//   - logical: a dump is loaded in a cluster of any provider, from the claim that it was made on, or
//     from the bucket. Meanwhile the database runs, and everything that uses it is stopped.
//   - verification: in the namespace shopfleet-verify a Job reads all of the data, on an imported volume, or in a database
//     that it has loaded a dump into. It is deleted afterwards with its claim and its volume.
//
// Steps before Retire can be undone. From its beginning on a Restore is seen through, also when it is deleted: without its
// claim the database would start empty. One that cannot go on, or waits for too long, is Stalled; a user can have the
// replaced volumes put back (putback.go), also when it is complete, and that is seen through as well. One that is deleted and
// some of whose volumes are gone gives the database those that are left, and releases it if it had none before (finalize.go).
// The status records what is replaced before it is deleted. An annotation on the copy (lock.go) is a lock of the database;
// another one records the last Restores that have replaced data, so that a hub that is restored from an older backup of etcd
// does not repeat them.
//
// # Non-goals
//
// The controller requests nothing from a cloud: the driver decides on zone, tags, group and key of a volume.
// In a member it deletes what it created, except namespaces, and the claims that it replaces and those of
// replicas, whose volumes stay. In Backups it writes what their verification found only. It copies no Secrets.
//
// # Trade-offs
//
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
