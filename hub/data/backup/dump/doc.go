// Package dump makes the dumps of Backups with method Dump by Jobs in the members, and sends
// them to a bucket.
//
// # Purpose
//
//   - Maker follows the Job that makes the dump. For a scheduled time this is the Job of the
//     CronJob, by the name that the CronJob's controller gives it. If there is none, Maker creates
//     it under that name, so that a missed run is made up for and no second one is created. For
//     a Backup that a user creates, Maker instantiates the CronJob, as kubectl create job --from
//     does, under a name that is derived from the Backup's UID. The manifest of the dump is the
//     termination message of the Job's pod (package spoke/render/database).
//   - Sender uploads the file, if the account of the member has a bucket: by a Job with signed
//     requests for the missing parts (package hub/data/dumps), which it renews at half of their
//     life. It writes the manifest last, when all parts are in the bucket and the Job has checked
//     the whole file against the checksum of the dump.
//   - Remover deletes the parts in the bucket until no Job can send more.
//
// # Non-goals
//
// The package reads no file, and deletes none in the cluster: the pods prune by the
// application's retention. In a member it writes only Jobs, and Secrets with the orders of those
// that send.
//
// # Trade-offs
//
//   - A Job that Maker creates belongs to the copy and not to the CronJob, whose history limits
//     could delete it before the hub reads it. It is deleted an hour after its end: a hub that
//     was down for longer reports the result as unknown, although there may be a dump. The
//     history limits of the CronJob apply to its own Jobs.
//   - Jobs are not watched. The hub reads one every five seconds at first, and every minute when
//     it takes long.
//   - A complete dump counts although its Job failed later, while it pruned.
//   - The status records that requests are about to be signed before they are, with the time at
//     which they expire. Remover waits for that time while the member does not respond.
//   - Kubernetes counts the attempts of a Job. One that has used all of them is deleted, and another
//     one made under its name, for as long as a backup may take: a bucket may be away for hours. These
//     Jobs become rare.
package dump
