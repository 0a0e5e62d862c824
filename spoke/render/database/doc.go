// Package database renders a database: PostgreSQL or MySQL in a StatefulSet that
// outlives its pods, its nodes and the mistakes of people.
//
// # What
//
// Credentials, generated once; the server's configuration; a headless Service
// for the pods and a Service that leads to the primary; the StatefulSet; and,
// where backups are on, a CronJob that dumps to a claim and prunes it.
//
// The contract with the application: a Secret (Spec.CredentialsSecret, or
// <base>-credentials) with the keys username, password and database, and the
// primary at Spec.Host() on Spec.Port(). The user owns the database and is no
// administrator. The name of the host stays when replicas are added.
//
// Pod 0 is the primary. The other pods copy it before their first start and
// stream from it after that: PostgreSQL by pg_basebackup, MySQL by the clone
// plugin and GTIDs. They can be read from, under the headless Service.
//
// A data directory is made beside the place where the server looks for it, by
// an init container, and renamed when it is complete. An interrupted first start
// therefore begins anew, and what is there is never initialised over. The
// entrypoint of the image is not used, and no password is on a command line.
//
// Quieten is the command that tells a running server that its volume is about to be
// cut. It is handed to the container by who cuts, so that it works in pods that were
// made before it was written.
//
// # Not
//
// No failover: when the primary's volume is lost, people decide which copy to
// trust. No upgrade between major versions: PostgreSQL refuses to start on
// another version's files, which the layout of the volume keeps in one place for
// all versions. No change of an application's password: the Secret is read when
// the data directory is made.
//
// # Trade-offs
//
// Replication is asynchronous, and WAL is kept by size instead of by scheduled times: a
// replica that was away for too long must be given an empty volume, but it can
// never fill the primary's. MySQL's replicas encrypt without checking whom they
// talk to; the network policy decides who may connect.
//
// All pods are started at once, and replaced one at a time. Started in order, a
// StatefulSet waits for a pod that never becomes ready, as one with a bad image,
// and does not replace it when the spec has been put right. The order that matters,
// replicas after the primary, is kept by the replicas: they wait for it. One case
// is left to people: where several pods were made from a bad spec and none ever
// started, the StatefulSet waits for the replica that it replaced first, and the
// replica for the primary. Pod 0 must then be deleted by hand.
//
// A text that only starting pods need goes before a file instead of into it: what
// is in a file is hashed, and a new hash restarts the pods.
//
// The time to stop is generous, since an interrupted checkpoint is paid for at
// the next start. PostgreSQL's is a fast shutdown sent by the preStop hook: it
// works with any image, also with one whose stop signal is SIGTERM, on which
// PostgreSQL would wait for its clients.
//
// The liveness probe is satisfied by any answer, also by "starting up": recovery
// after a crash may take as long as it takes. The readiness probe is not.
//
// The pods ask for a little memory, so that they are not the first to be killed
// when a node runs out of it, and have no limit.
//
// A dump is of the application's database alone and is made by its user, who can
// read all of it. Age is read from a dump's name, not from the file's time, which
// copies do not keep. The newest dump is never pruned, and none is pruned before
// the next is complete. The claim of the dumps is made once; people make it larger.
//
// Beside a dump is its manifest, backup-<stamp>.json, of one line: the file, its size
// and checksum, engine, version, when the dump began and when it was complete. It gets
// its name last, and the line is the termination message of the pod, where the hub reads
// it. Dumps of earlier releases have no manifest, and count all the same: what does not
// count has a manifest unfinished-<stamp>.json beside it, and is removed after a day.
// Two dumps at once, by the CronJob and by hand, do not get in each other's way. A MySQL
// database that is being loaded is not dumped: package jobs leaves a table that tells.
package database
