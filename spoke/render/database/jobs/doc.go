// Package jobs renders the Jobs that transfer dumps to and from a bucket, and load them, and the Job that
// imports the volume of a snapshot.
//
// # Purpose
//
// Send returns a Job that uploads a dump from its claim. Load returns a Job that loads a
// dump into a database, from that claim or from one to which it is downloaded first; Claim
// returns the claim for that. All pods are restricted, as the user that owns the dumps.
// Kubernetes counts the attempts, without those that end because a node is drained; some exit
// statuses say that another one cannot succeed.
//
// Import returns a Job whose pod is the first on a volume that a CSI driver makes from a snapshot. Drivers make a volume
// where its first pod is scheduled, so the pod has the nodes, resources and user of the primary; to Services, controllers
// and network policies it is none of the database. It checks that the data does not end before the
// position that the backup has recorded, that the server can read it, and that it has the target's user and database. Then it gives the data an identity of its own: PostgreSQL a new timeline, without slots and
// subscriptions, MySQL a new server UUID, without the configuration of a replica. The next start of the primary sets the
// passwords. For a verification it also reads all of the data, with the checkers that the image has, and names them.
//
// ProveDump downloads a dump, loads it into a database of its own pod, which is on the claim beside the dump, and reads all of
// that as an import does.
//
// Load verifies the file before it changes the database. It rejects a database that
// contains objects of the application, unless it may replace them. Objects of
// administrators, such as members of extensions, do not count. The load is done when the
// Job is complete.
//
// A PostgreSQL dump is loaded in one transaction: a failure leaves the previous content.
// Previous content is dropped in the same transaction, with DROP OWNED, which drops
// everything that the application's user owns, including what was created after the dump.
// MySQL cannot do that in a transaction. Instead, the table shopfleet_loading marks a
// partially loaded database: another load of the same dump drops the content and starts
// over, and a load of another dump is rejected.
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
//   - MySQL views, triggers, routines and events keep their definer: a dump that contains
//     some must be loaded under the same user name.
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
package jobs
