// Package logical restores dumps: it has a Job load the dump into a database of a member.
//
// # What
//
//	source     the claim that the dump was made on, if the database is beside it; else
//	           the bucket, if all of it is there
//	stopping   the database runs, and nothing that uses it (LoadingAnnotation on the copy)
//	loading    a Job with the engine's image loads the file; from a bucket, another
//	           container brings it to a claim that is made for it
//	starting   what uses the database starts again; Job, order and claim are deleted
//
// Shop is the way into the database of an application, Run what it shares with the
// verification of a backup: one dump, one database, and Jobs until one has loaded it.
// Source, and what follows from how a Job ended, are functions of values.
//
// # Not
//
// No status is written here but through Save, and no Secret of a member is read. What the
// Jobs do is the matter of package spoke/render/database/jobs, what an order is that of
// package hub/logicalbackup.
//
// # Trade-offs
//
//   - A Job is written down before it is made, and has the same name from whoever makes it,
//     so that a hub that dies in between makes no second one. Save fails when the hub reads
//     an old status, so that an old hub cannot load a dump once more.
//   - A load of PostgreSQL is one transaction, and its failure changes nothing. One of MySQL
//     leaves a database that is not whole: the status says so, and what uses the database
//     is started all the same, since only a user can decide what is better.
//   - An attempt has no more rights than the first. That a database is that of an
//     interrupted load of MySQL, and may be loaded again, the database itself tells.
//   - Passwords do not travel: a dump has no users in it, and is loaded by the
//     application's.
package logical
