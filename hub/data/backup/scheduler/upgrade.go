package scheduler

import (
	"fmt"
	"slices"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/data/schedule"
)

// clockSlack is how far the clock of the hub's API server may be behind the process's.
const clockSlack = time.Minute

// upgrade approves a new server of the database, another version or image, for a cluster once there is a
// successful backup that was begun after it was requested, and creates that backup.
func (in input) upgrade(decision *Decision, h *History, method v1.BackupMethod) problem {
	mine := in.by(method, h.Cluster)
	wanted, waits := in.server(h)
	if !waits {
		return problem{}
	}
	h.UpgradeTime = in.upgradeTime(h.Cluster)
	if in.app.RecordedServer(h.Cluster).Image == "" {
		return problem{} // Without a record the Backup has no server, and an approval would not change the order of the copy.
	}
	var last *v1.Backup
	since := h.UpgradeTime.Add(-clockSlack)
	for _, b := range mine {
		if beginOf(b).Before(since) || !b.DeletionTimestamp.IsZero() {
			continue
		}
		if isGood(b) {
			h.Server, h.UpgradeTime = wanted, time.Time{}
			return problem{}
		}
		if last == nil || last.CreationTimestamp.Before(&b.CreationTimestamp) {
			last = b
		}
	}
	switch {
	case last == nil && !decision.makes(h.Cluster) && !in.busy(h.Cluster, mine):
		b := in.backupFor(clusterMethod{h.Cluster, method}, h.UpgradeTime)
		b.Name, b.Spec.ScheduledTime = schedule.ManualName(in.app.Name, h.Cluster, h.UpgradeTime), nil
		decision.Create = append(decision.Create, b)
	case last != nil && last.Status.Phase == v1.BackupFailed:
		reason := v1.ReasonSnapshotFailed
		if method == v1.BackupDump {
			reason = v1.ReasonDumpFailed
		}
		return problem{reason, fmt.Sprintf("%s: the upgrade to %s waits for a successful backup, and the last one failed: %s",
			h.Cluster, wanted.Image, last.Status.Message)}
	}
	return problem{}
}

// server sets the server that a cluster has, and returns the one that it is to have, and whether that waits
// for a backup.
func (in input) server(h *History) (wanted v1.DatabaseServer, waits bool) {
	recorded, copied := in.app.RecordedServer(h.Cluster), in.copied[h.Cluster]
	isKnown := in.compared[h.Cluster] || copied != (v1.CopiedServer{})
	db, err := revisions.Database(in.app, in.members[h.Cluster])
	if err != nil || recorded.Image == "" && !isKnown {
		h.Server = recorded // The cluster is away, or the copy says why its server is not known.
		return wanted, false
	}
	wanted = db.Server()
	h.Server = in.app.DatabaseServer(h.Cluster, wanted, copied)
	if h.Server.Image == "" && copied.Image != "" {
		h.Server = copied.DatabaseServer // An earlier release recorded a version that neither the copy nor the spec has.
	}
	from := &v1.Database{Engine: db.Engine}
	from.SetServer(h.Server)
	if copied.NeverStarted() {
		from.SetServer(copied.Started) // The data is of it, and not of the one that is recorded.
	}
	refused := v1.CheckServer(from, db) != nil
	if h.Server == wanted {
		if refused {
			h.Server = copied.DatabaseServer
		}
		return wanted, false
	}
	return wanted, !refused // One that is refused is not worth a backup: the copy says why.
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

// makes reports whether the Decision creates a Backup of a cluster.
func (d *Decision) makes(cluster string) bool {
	return slices.ContainsFunc(d.Create, func(b *v1.Backup) bool { return b.Spec.ClusterRef.Name == cluster })
}

// upgradeTime returns when the new server was first requested in a cluster.
func (in input) upgradeTime(cluster string) time.Time {
	for _, b := range in.app.Status.Backups {
		if b.Name == cluster && b.UpgradeTime != nil {
			return b.UpgradeTime.Time
		}
	}
	return in.now.Truncate(time.Second)
}
