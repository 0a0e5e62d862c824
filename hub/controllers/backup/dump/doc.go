// Package dump has the dumps made that Backups of the method Dump ask for, in the member
// whose database they are of, and reads what came of them.
//
// # What
//
// A Backup that a person makes runs the CronJob of the copy once: a Job is made from its
// template, as kubectl create job --from does. Its name comes from the Backup's UID, so
// that whoever comes second finds it there. The Job is followed until it ends; the
// manifest of the dump is what its pod said last (package spoke/render/database).
//
// # Not
//
// No file is read, and none is deleted: the pods prune by the application's retention.
// Nothing is written in a member but the Job.
//
// # Trade-offs
//
//   - The Job belongs to the copy and not to the CronJob, whose history limits would delete it
//     before it was read. It is gone an hour after its end: a hub that was away for that
//     long says that it does not know, though the dump may be there.
//   - Jobs are not watched. One is looked at every five seconds at first, and every minute
//     when it takes long.
//   - A dump that is complete counts although its Job failed after it, in pruning.
package dump
