// Package logical has the dumps made that Backups of the method Dump ask for, in the member
// whose database they are of, reads what came of them, and has them sent to a bucket.
//
// # Purpose
//
//   - Run follows the Job that dumps. That of a scheduled time of the schedule is the CronJob's, by
//     the name that its controller gives it; where there is none it is made under that
//     name, so that a run that was missed is made up for, and no other one can be made. For
//     a Backup that a person makes the CronJob is run once, as kubectl create job --from
//     does, under a name that comes from the Backup's UID. The manifest of the dump is what
//     the Job's pod said last (package spoke/render/database).
//   - Send has the file sent, if the account of the member has a bucket: one Job after the
//     other, each with requests for the parts that are missing (package hub/logicalbackup). The
//     manifest in the bucket comes last, when all parts are there and a Job has read the
//     whole file and found it to be what was dumped.
//   - Removal deletes what is in the bucket, and goes on until nothing more can come.
//
// # Non-goals
//
// No file is read, and none in the cluster is deleted: the pods prune by the application's
// retention. Nothing is written in a member but Jobs and the orders of those that send.
//
// # Trade-offs
//
//   - A Job that was made here belongs to the copy and not to the CronJob, whose history
//     limits would delete it before it was read. It is gone an hour after its end: a hub
//     that was away for that long says that it does not know, though the dump may be there.
//     Those of the CronJob are kept by the limits of its history.
//   - Jobs are not watched. One is looked at every five seconds at first, and every minute
//     when it takes long.
//   - A dump that is complete counts although its Job failed after it, in pruning.
//   - That requests are about to be signed is in the status before they are, with the time
//     at which they expire; that is what Removal waits for when the member does not answer.
//   - There is no bound on attempts but the time that a backup may take: each has an hour,
//     and a large dump on a slow line takes many. Those that fail at once become rare.
package logical
