package scheduler

import (
	"fmt"
	"slices"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/schedule"
)

// clockSlack is how far the clock of the hub's API server may be behind the process's.
const clockSlack = time.Minute

// upgrade approves a new database version for a cluster once there is a successful backup
// that was begun after the version was requested, and creates that backup.
func (in input) upgrade(plan *Plan, s *History, method v1.BackupMethod) problem {
	mine := in.by(method, s.Cluster)
	wanted := in.app.Spec.Database.Version
	isRecorded := in.app.RecordedVersion(s.Cluster) != ""
	if !isRecorded && !in.compared[s.Cluster] && in.versions[s.Cluster] == "" {
		return problem{} // The cluster is away: its database may have any version.
	}
	s.Version = in.app.DatabaseVersion(s.Cluster, in.versions[s.Cluster])
	if s.Version == wanted {
		return problem{}
	}
	s.UpgradeTime = in.upgradeTime(s.Cluster)
	var last *v1.Backup
	since := s.UpgradeTime.Add(-clockSlack)
	for _, b := range mine {
		if beginOf(b).Before(since) || !b.DeletionTimestamp.IsZero() {
			continue
		}
		if b.Status.Phase.IsSuccessful() {
			s.Version, s.UpgradeTime = wanted, time.Time{}
			return problem{}
		}
		if last == nil || last.CreationTimestamp.Before(&b.CreationTimestamp) {
			last = b
		}
	}
	switch {
	case !isRecorded: // A backup names the version that is recorded.
	case last == nil && !plan.makes(s.Cluster) && !in.busy(s.Cluster, mine):
		b := in.backupFor(clusterMethod{s.Cluster, method}, s.UpgradeTime)
		b.Name, b.Spec.ScheduledTime = schedule.ManualName(in.app.Name, s.Cluster, s.UpgradeTime), nil
		plan.Create = append(plan.Create, b)
	case last != nil && last.Status.Phase == v1.BackupFailed:
		reason := v1.ReasonSnapshotFailed
		if method == v1.BackupDump {
			reason = v1.ReasonDumpFailed
		}
		return problem{reason, fmt.Sprintf("%s: the upgrade to %s waits for a successful backup, and the last one failed: %s",
			s.Cluster, wanted, last.Status.Message)}
	}
	return problem{}
}

// beginOf returns the snapshot time of a Backup. A dump that the hub requested cannot be
// older than its request, whatever the node's clock says.
func beginOf(b *v1.Backup) time.Time {
	at := pointInTime(b)
	if b.Spec.Method == v1.BackupDump && b.Spec.ScheduledTime == nil && b.Status.StartTime != nil && at.Before(b.Status.StartTime.Time) {
		return b.Status.StartTime.Time
	}
	return at
}

// makes reports whether the plan creates a Backup of a cluster.
func (p *Plan) makes(cluster string) bool {
	return slices.ContainsFunc(p.Create, func(b *v1.Backup) bool { return b.Spec.ClusterRef.Name == cluster })
}

// upgradeTime returns when the new version was first requested in a cluster.
func (in input) upgradeTime(cluster string) time.Time {
	for _, b := range in.app.Status.Backups {
		if b.Name == cluster && b.UpgradeTime != nil {
			return b.UpgradeTime.Time
		}
	}
	return in.now.Truncate(time.Second)
}
