// Package schedule decides when backups are made, what they are called, when they
// are good and when they go.
//
// # What
//
//   - Schedule: the scheduled times of five fields of cron in a time zone; Due says which
//     scheduled time to run now, Offset and Window spread applications that share one, and
//     MinInterval is what to compare with the shortest that a provider takes.
//   - BackupName and ManualName: the same name for the same scheduled time, whoever asks.
//   - Prune: an inventory and a policy to what is kept and what is deleted, with
//     a reason for each.
//   - RPO, and the bound for it where the user gives none.
//
// # Not
//
// No client, no clock, no randomness: the same input gives the same answer. What
// a backup is made with, and how a database is held still for it, is decided by
// who does it.
//
// # Time zones
//
// Parse looks a zone up as time.LoadLocation does: in the folder or file that
// ZONEINFO names, in the system's, and in what is linked into the process. The
// image of the hub has neither, so its main imports time/tzdata. A zone that
// changes its rules takes a new build.
//
// # When clocks are changed
//
// Slots follow RFC 5545, section 3.3.5. A time that the clock skips is taken at the
// offset that held before: 02:30 in the night to summer time is 03:30, once, even
// if 03:30 is a scheduled time itself. A time that the clock shows twice counts the first
// time. A schedule whose hours are all 24 follows elapsed time instead, as old cron
// has it: otherwise one of every ten minutes would rest for an hour each autumn, and
// raise an alarm about it.
//
// # Trade-offs
//
//   - Fields are parsed by robfig/cron, as Kubernetes parses the schedules of the dumps, and
//     scheduled times are computed here: its Next skips what the clock skips, and runs twice what the
//     clock shows twice.
//   - However many scheduled times were missed, one is made up for. Ten backups of the same
//     hour are worth no more than one.
//   - A name has a hash when an application has a dash, not only when it is long:
//     the application shop-eu in the cluster 1 and shop in eu-1 would share a name,
//     and one of the two would never be backed up.
//   - Prune errs on the side of keeping. One entry that cannot be trusted (a cut in
//     the future, a name twice) stops all deletions until somebody looks at it, and
//     the plan says which. The newest good one of each method stays for ever.
//   - Plans are bounded by what is due the longest, which for good ones is the
//     oldest. By age alone a failed one could push a good one out of a later plan.
package schedule
