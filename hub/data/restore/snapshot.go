package restore

import (
	"context"
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// chooseSnapshots writes down which snapshots the volumes are made from.
func (w *work) chooseSnapshots(ctx context.Context) steps.Result {
	if result := w.canImport(); result.Stops() {
		return result
	}
	var chosen []v1.RestoredVolume
	for i := range w.backup.Status.Snapshots {
		snapshot := &w.backup.Status.Snapshots[i]
		// One that is missing may have been recovered since: the driver is asked before anything is stopped.
		id, _ := csi.SnapshotIn(w.member.Status.Region, &w.backup.Status, snapshot)
		if id == "" && w.backup.Status.Phase == v1.BackupFinalizing && slices.Contains(w.backup.Spec.CopyToRegions, w.member.Status.Region) {
			return steps.RetryAfter(steps.Member, v1.ReasonBackupNotReady, "the copy of Backup %q in %s is being made", w.backup.Name, w.member.Status.Region)
		}
		if id == "" {
			return noneIn(w.member.Status.Region, w.backup, snapshot)
		}
		chosen = append(chosen, v1.RestoredVolume{Claim: snapshot.Claim, Snapshot: id})
	}
	if len(chosen) == 0 {
		return steps.Fail(v1.ReasonBackupNotReady, "Backup %q has no snapshots", w.backup.Name)
	}
	if result := w.mayReplace(ctx); result.Stops() {
		return result
	}
	w.restore.Status.Volumes = chosen
	return steps.Result{}
}

// noneIn returns the result for a Backup without a snapshot in a region.
func noneIn(region string, b *v1.Backup, s *v1.VolumeSnapshot) steps.Result {
	for _, c := range s.Copies {
		if c.Region == region && c.State == string(cloud.StateFailed) {
			return steps.Fail(v1.ReasonSnapshotMissing, "Backup %q has no snapshot in %s, because the copy failed: %s", b.Name, region, c.Message)
		}
	}
	return steps.Fail(v1.ReasonSnapshotMissing, "Backup %q has no snapshot in %s: give %s in copyToRegions of the backups to come", b.Name, region, region)
}
