// Package restore implements the controller of Restores. It has the CSI driver of a member create volumes from the
// snapshots of a Backup and replaces the database's claims by them, or loads a dump into the database.
//
// # Purpose
//
// A Restore has one of these phases:
//
//	Pending      Backup and target are found and compared
//	InProgress   volumes are created, or the dump is loaded; the database, or what uses it, is stopped
//	Starting     the claims are bound or the dump is loaded, and the application starts
//	CleaningUp   the objects of a verification or of a failed load are deleted
//	Completed    the database is ready, or there is no application there yet
//	Failed       nothing was replaced, or it was put back, and what was stopped runs again
//
// The steps of each kind of Restore are in steps.go:
//
//   - A snapshot is imported while the application runs: a Job opens the data of the new volume and gives it a new
//     identity. Then the database is stopped and its claims are replaced; those of replicas are deleted. An existing
//     volume is replaced only with spec.overwrite, and kept.
//   - A dump is loaded from its claim, or from the bucket in a cluster of any provider. Meanwhile the database runs, and
//     everything that uses it is stopped.
//   - A verification runs one Job in the namespace shopfleet-verify, which reads all data of an imported volume, or of a
//     database into which it has loaded a dump. Its objects are deleted afterwards.
//
// Steps before Retire can be undone. A Restore continues from Retire on, also when it is deleted, because the database
// would start empty without its claim. If it cannot continue, it is Stalled; a user can have the replaced volumes put
// back (putback.go). The status records what is replaced before it is deleted. An annotation of the copy locks the
// database (lock.go), and another one lists the last Restores, which a hub that was itself restored does not repeat.
//
// # Non-goals
//
// The controller sends no request to a cloud but those for the bucket: the CSI driver decides on zone, tags, group and
// key of a volume. In a member it deletes what it created, except namespaces, and the claims that it replaces and those
// of replicas, whose volumes stay. It copies no Secrets.
//
// # Trade-offs
//
//   - A StatefulSet finds its claims by name. The imported volume is therefore bound a second time under the name of the
//     replaced claim. To create it a second time could fail when there is no way back.
//   - Where the application has no credentials, those that the spoke generates are set in the imported data when it
//     starts: an annotation of the claim allows it.
//   - A load of PostgreSQL is one transaction. A failed load of MySQL leaves an incomplete database, which the status
//     says; what uses the database starts all the same, because only a user can decide.
//   - The member is polled, not watched: a cache of all its pods, claims and volumes would be too large for a rare
//     operation.
package restore
