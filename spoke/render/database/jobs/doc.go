// Package jobs renders the Jobs that transfer dumps to and from a bucket, and load them, and the Job that
// imports the volume of a snapshot.
//
// # Purpose
//
// All pods are restricted and run as the user that owns the data. Kubernetes counts the attempts, without those that end
// because a node is drained; some exit statuses mean that another attempt cannot succeed.
//
//   - Send returns a Job that uploads a dump from its claim.
//   - Load returns a Job that loads a dump into a database, from that claim or from one to which it is downloaded first;
//     Claim returns that one. It verifies the file before it changes the database, and rejects a database that contains
//     objects of the application, unless it may replace them. Objects of administrators do not count.
//   - Import returns a Job whose pod is the first on a volume that a CSI driver creates from a snapshot. Drivers create a
//     volume where its first pod is scheduled, so the pod has the nodes, resources and user of the primary, but is not
//     selected by the Services, controllers and network policies of the database. It checks the position, the version, the
//     user and the database of the data, and gives the data a new identity: PostgreSQL a new timeline without slots and
//     subscriptions, MySQL a new server UUID without the configuration of a replica. For a verification it reads all data,
//     and names the programs that did.
//   - ProveDump returns a Job that downloads a dump, loads it into a new database in its own pod, and reads all data.
//
// A PostgreSQL dump is loaded in one transaction, which also drops previous content: a failure leaves that. MySQL has no
// such transaction: the table shopfleet_loading marks a database that is loaded in part. Another load of the same dump
// drops its content and begins again; a load of another dump is rejected.
//
// # Non-goals
//
// The package creates no orders and writes no Jobs. It does not stop the application during
// a load: package render does, for a copy with the annotation. An import does not
// upgrade PostgreSQL, and does not create a user that the data lacks.
//
// # Trade-offs
//
//   - Owners and privileges of the dump are ignored: the application's user owns
//     everything. DROP OWNED also revokes privileges that were granted to that user
//     manually, and drops its extensions, which the dump creates again. Extensions and
//     tables of others are kept; if one conflicts, the load fails.
//   - To replace content, psql executes the output of pg_restore, because only so both
//     share a transaction. A load into an empty database uses pg_restore directly.
//   - MySQL views, triggers, routines and events lose their definer, and become those of the user who loads them.
//   - If a pod is lost between the end of a load and its own, the database is loaded, and the
//     next attempt fails the Job, because the database is not empty.
//   - A Job has one limit of attempts, whichever of its containers fails: one that downloads
//     the dump first has more of them, also to load it.
//   - An import keeps PostgreSQL's system identifier, and two imports of one snapshot have the same timeline:
//     a replica of one could follow the other. Claims of former replicas must be retired.
//   - PostgreSQL recovers with a configuration of the Job's own: that the database starts with the settings of
//     postgresql.auto.conf is not shown.
//   - The position is compared with PostgreSQL's control file, before the server starts and writes to it: the snapshot was
//     requested after a checkpoint. Images without pg_controldata are not compared.
//   - MySQL has no files that name its major version: that the server cannot use the data is read from its log.
//   - The script is part of the command: it contains no secrets, and needs no ConfigMap.
//   - ProveDump cannot create extensions that require an administrator.
package jobs
