// Package database renders a database, PostgreSQL or MySQL, in a StatefulSet whose data
// survives the loss of pods and nodes, and user errors.
//
// # Purpose
//
// It renders credentials, which are generated once; the server's configuration; a headless
// Service for the pods and a Service for the primary; the StatefulSet; and, if backups are
// enabled, a CronJob that writes dumps to a claim and prunes them.
//
// The contract with the application: a Secret (Spec.ClientSecret) with the keys username,
// password and database, and the primary at Spec.Host() on Spec.Port(). The user owns the
// database, or acts for the owner, and is not an administrator. The host name does not change
// when replicas are added.
//
// Users keep the credentials in another Secret (Spec.CredentialsSecret, or <base>-credentials).
// If Spec.Rotated is set, package credentials decides how clients follow a new password there,
// and ChangeLogin has the commands; all pods then read the login Secret only, so that their
// templates stay as they are. PostgreSQL gets a second role for it, which acts for the owner and
// has its settings. A pod whose data has older passwords, such as the data of a backup, sets the
// passwords of the login Secret before it starts: a note beside the data says which it has.
//
// Pod 0 is the primary. The other pods copy its data before their first start and then
// replicate from it: PostgreSQL with pg_basebackup, MySQL with the clone plugin and GTIDs.
// Clients can read from them through the headless Service.
//
// A database is created once: a Mark in a Secret outside of the volume says that there was one. The init
// container of the primary reads it, and without it no pod starts. Under it an empty volume is not
// initialized: the container ends with ExitLost. Package initialization decides what the mark is.
//
// An init container creates the data directory next to its final path, and renames it when
// it is complete. An interrupted first start therefore starts over, and existing data is
// never initialized again. The entrypoint of the image is not used, and no password is on a
// command line.
//
// CheckpointCommand returns the command that the hub runs in the container of a PostgreSQL
// primary before a volume snapshot.
//
// # Non-goals
//
// There is no failover, and no replica is promoted: if the primary's volume is lost, users
// decide which replica or backup to trust.
// There is no upgrade between major versions: PostgreSQL refuses to start on files of another
// version, and the layout of the volume keeps the files of all versions in one place. The
// password of a database that is not rotated cannot change: the Secret is read when the data
// directory is created. The passwords of the administrator and of replication cannot change either.
//
// # Trade-offs
//
// Replication is asynchronous, and WAL is retained by size instead of by replication slots:
// a replica that was disconnected for too long has to copy the data again, but it can never fill
// the primary's volume. A replica of PostgreSQL that does not stream while its primary serves is
// not ready, and so left out of the headless Service. Package replication decides when it is lost.
// RebuildCommand then asks for a copy of the primary's data into the same volume. The next start takes
// that request away before anything else, so that it is valid once, and removes the data only if it
// belongs to a standby, and the system identifier, timeline and position that the primary reports then say
// that the primary has all of it. A start that refuses is not repeated for an hour. Replication of MySQL is
// experimental: it has not run with MySQL itself, and is not observed. The binary log of
// MySQL is bounded by time, an hour or six by the size of the volume: a replica that was disconnected for
// longer has to be given an empty volume, and a load that writes the volume full within that time still stops
// the primary. MySQL replicas encrypt
// connections without verifying the server; the network policy determines who may connect.
//
// All pods are started in parallel, and replaced one at a time. With ordered start, a
// StatefulSet waits for a pod that never becomes ready, for example because of a wrong
// image, and does not replace it after the spec was corrected. The replicas ensure the
// required order: they wait for the primary. One case needs manual intervention: if several
// pods were created from a wrong spec and none ever started, the StatefulSet waits for the
// replica that it replaced first, and that replica for the primary. Pod 0 must then be
// deleted manually.
//
// The ConfigMap of a database has a hash of the server's configuration in its name: other configuration
// restarts the pods, and a pod that was not replaced yet keeps its own. The scripts are updated in
// place, because only starting pods need them: a release of Shopfleet with other scripts restarts nothing,
// and a pod of an earlier version that starts runs the new ones.
//
// The termination grace period is long, because an interrupted checkpoint prolongs the next
// start. PostgreSQL is stopped by a fast shutdown in the preStop hook, which works with any
// image, including those with the stop signal SIGTERM, on which PostgreSQL waits for its
// clients.
//
// The liveness probe accepts any response, including "starting up", because crash recovery
// may take any time. The readiness probe does not.
//
// The pods request little memory, so that they are not the first to be evicted when a node
// runs out of memory, and have no limit.
//
// A dump contains the application's database only, and is made by its user, who can read
// all of it. The age of a dump is determined from its name, not from the file time, which
// copies do not preserve. The newest valid dump is never removed.
//
// Dumps are pruned by retention before and after each dump. A claim that is too small is
// better filled with fewer dumps than with none of today: the oldest ones are removed if that
// makes space for the next, and none if it does not. An estimate could remove them for nothing,
// so the script measures the next dump, by a dump that it does not write, when less than 5/4 of
// the size of the newest is free, and when a dump failed because the claim is full. The database
// is read twice in that case. The script cannot know why a claim has little space: on a volume
// that shares its space with others, dumps are also removed for what these write. A mark
// early-<stamp> remains of the newest dump that was removed before its retention ended, so
// that later runs report it too. If the next dump does not fit beside the newest, the script
// fails with the size that the claim needs. The claim of the dumps is created once, and grows
// with the database's; users may expand it.
//
// Each dump has a manifest, backup-<stamp>.json, of one line: the file, its size and
// checksum, engine, version, start and completion time. The manifest is renamed last, and
// the line is the termination message of the pod, where the hub reads it. Its field
// removedEarly is the stamp of that mark, and notPruned says that retention removed nothing, because the
// clocks of the node and of the database differ by five minutes or more: one that is ahead would make
// every dump an old one, and nothing tells which of the two is right. The log of a run that fails ends with a line that
// has it (RemovedEarly). Dumps of earlier releases have no manifest and are valid. A dump with a
// manifest unfinished-<stamp>.json is invalid, and is removed after a day. Concurrent dumps, by the
// CronJob and by hand, do not interfere. A MySQL database into which a dump is being loaded is not dumped: package jobs
// creates a table that marks it.
package database
