// Package schedule decides when backups are due and how they are named.
//
// # Purpose
//
//   - Schedule: the scheduled times of a cron expression in a time zone. Due returns the
//     scheduled time to run now; Offset and Window spread applications that share one;
//     MinInterval is compared with the minimum interval of a provider.
//   - BackupName and ManualName: deterministic names of backups.
//   - DefaultMaxRPO: a limit for the age of the newest backup.
//
// # Non-goals
//
// The package uses no client, no clock and no randomness: the same input gives the same result. The backup
// controllers decide how a backup is made.
//
// # Time zones
//
// Parse loads a zone with time.LoadLocation: from the folder or file that ZONEINFO
// names, from the system, or from the embedded database. The hub's image has neither
// of the first two, so its main package imports time/tzdata. A zone that changes its
// rules requires a new build.
//
// # Daylight saving time
//
// Scheduled times follow RFC 5545, section 3.3.5. A local time that is skipped is taken
// at the offset that applied before: at the start of daylight saving time, 02:30 becomes
// 03:30, once, even if 03:30 is a scheduled time itself. A local time that occurs twice
// counts the first time. A schedule that includes all 24 hours follows elapsed time
// instead, as in traditional cron: otherwise a schedule of every ten minutes would pause
// for an hour each autumn and raise an alert.
//
// # Trade-offs
//
//   - robfig/cron parses the fields, as Kubernetes does for the dump CronJobs. Scheduled times
//     are computed here, because its Next skips local times that do not exist and returns
//     those that occur twice two times.
//   - However many scheduled times were missed, only one backup is made. Ten backups of
//     the same hour are worth no more than one.
//   - A name has a hash if the application's name contains a dash, not only if it is too
//     long: otherwise the application shop-eu in the cluster 1 and shop in eu-1 would
//     share a name, and one of the two would never be backed up.
package schedule
