// Package database renders a database, PostgreSQL or MySQL, in a StatefulSet whose data survives the
// loss of pods and nodes, and user errors.
//
// # Purpose
//
// It renders credentials, which are generated once; configuration; a headless Service for the pods
// and one for the primary; the StatefulSet; and, if backups are enabled, a CronJob that writes dumps
// to a claim and prunes them.
//
// The contract with the application: a Secret (Spec.ClientSecret) with username, password and
// database, and the primary at Spec.Host() on Spec.Port(), whose name does not
// change when replicas are added. The user owns the database, or acts for the owner, and is not an
// administrator.
//
// Users keep the credentials in another Secret (Spec.CredentialsSecret, or <base>-credentials).
// If Spec.Rotated is set, package passwordrotation decides how clients follow a new password there; all
// pods then read the login Secret only, so that their templates stay as they are. PostgreSQL gets a
// second role, which acts for the owner. A pod whose data has older passwords, as from a backup, sets
// those of the login Secret before it starts: a note beside the data says which it has. Data that was imported
// from a snapshot, as package jobs does, has the file RestoredSuffix beside it instead. With it, pod 0 sets all
// passwords from the Secrets of its cluster, also without a login Secret, and no old one has to be known: not even that of
// MySQL's administrator, which a file of SQL sets while the server starts. The user must be in the data.
//
// Pod 0 is the primary. The other pods copy its data before their first start and then replicate
// from it: PostgreSQL with pg_basebackup, MySQL with the clone plugin and GTIDs. Clients read from
// them through the headless Service.
//
// A database is created once: a Mark in a Secret outside of the volume says that there was one.
// Without the mark no primary starts; with it an empty volume is not initialized, and the init
// container ends with ExitLost. Package initialization decides what the mark is.
//
// An init container creates the data directory next to its final path and renames it when it is
// complete: an interrupted first start begins again, and existing data is never initialized. The
// entrypoint of the image is not used, and no password is on a command line.
//
// # Non-goals
//
// No replica is promoted: if the primary's volume is lost, users decide which replica or backup to
// trust. PostgreSQL is not upgraded to another major version, whose files it refuses. The passwords
// of the administrator, of replication, and of a database that is not rotated cannot change: they are
// read when the data directory is created, and once after an import.
//
// # Trade-offs
//
// Replication is asynchronous, and WAL is retained by size: a replica that was disconnected for too
// long has to copy the data again, and does not fill the primary's volume. Only a copy that is being
// made has a replication slot, which is bounded as well, from PostgreSQL 13 on (postgreSQLWAL). The
// binary log of MySQL is bounded by time (mySQLLog). Configuration by the size of the volume takes
// effect on the next start; that by the memory request restarts pods, as other resources do. Replication of MySQL is
// experimental: it has not run with MySQL itself, and is not observed. Its replicas encrypt
// connections without verifying the server; the network policy determines who may connect.
//
// A dump contains the application's database only, and is made by its user. Its age is that of its
// name: copies do not preserve file times. The newest valid dump is never removed. Dumps by the
// CronJob and by hand do not interfere. A MySQL database that has a LoadingTable is not dumped.
package database
