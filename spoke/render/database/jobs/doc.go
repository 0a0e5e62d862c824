// Package jobs renders the Jobs that transfer dumps to and from a bucket, and load them, and the Job that
// imports the volume of a snapshot.
//
// # Purpose
//
// Send returns a Job that uploads a dump from its claim. Load returns a Job that loads a
// dump into a database, from that claim or from one to which it is downloaded first; Claim
// returns the claim for that. All pods are restricted, as the user that owns the dumps.
// Kubernetes repeats a pod that failed, unless its exit status says that another attempt
// cannot succeed. A pod whose node was drained is repeated without being counted.
//
// Import returns a Job whose pod is the first on a volume that a CSI driver makes from a snapshot, while the
// application may still run on another one. The pod is the primary's, as far as nodes, resources and users are
// concerned: drivers make a volume where its first pod is scheduled. It is none of the database's pods for Services,
// controllers and network policies, and needs nothing that a cluster lacks which has never had the application. It
// proves that the volume has a database that this server can read, with the user and the database of
// the target's credentials, and gives the data an identity of its own:
//
//   - PostgreSQL begins a new timeline, so that replicas and backups of the source are not mistaken for those of the
//     target. Replication slots and subscriptions are dropped, without asking the publisher.
//   - MySQL gets a new server UUID, so that no transaction of the target has a name that one of the source has. The
//     configuration of a replica is removed. The server ID is an argument of the server.
//
// Passwords are not known to it: they are set by the next start of the primary. The Job counts its attempts. Each
// begins anew, and gives the data another timeline or UUID. Evictions and drains do not count.
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
//   - PostgreSQL recovers with a configuration of the Job's own. Of postgresql.auto.conf, settings of libraries,
//     TLS, logs and archives do not apply to it: that the database starts with them is not proved.
//   - MySQL has no files that name its major version: that the server cannot use the data is read from its log.
//   - podFailurePolicy and podReplacementPolicy are beta, and on, in Kubernetes 1.30, the oldest that is supported.
//   - The script is part of the command: it contains no secrets, and needs no ConfigMap.
package jobs
