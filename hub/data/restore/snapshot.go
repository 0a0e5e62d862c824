package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// chooseSnapshots writes down which snapshots the volumes are made from.
func (w *work) chooseSnapshots(ctx context.Context) steps.Result {
	if result := w.canImport(); result.Stops() {
		return result
	}
	if result := w.replaceable(ctx); result.Stops() {
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
		name := snapshot.Claim
		if live := w.targetFacts.claims[name]; live != nil && !w.restore.Spec.Overwrite && !w.restore.Spec.Verify {
			return w.inUse(name)
		}
		chosen = append(chosen, v1.RestoredVolume{Claim: name, Snapshot: id})
	}
	if len(chosen) == 0 {
		return steps.Fail(v1.ReasonBackupNotReady, "Backup %q has no snapshots", w.backup.Name)
	}
	w.restore.Status.Volumes = chosen
	return steps.Result{}
}

// inUse returns the result for a claim that must not be replaced.
func (w *work) inUse(claim string) steps.Result {
	return steps.Fail(v1.ReasonVolumeInUse, "the database has the claim %s in %s: give spec.overwrite: true to put the restored volume in its place",
		claim, w.member.Name)
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

// replaceable reports whether the data of a database that runs there can be replaced, by data that its pods can all work
// with.
func (w *work) replaceable(ctx context.Context) steps.Result {
	if w.restore.Spec.Verify {
		return steps.Result{}
	}
	others, err := w.otherClaims(ctx, w.reader())
	if err != nil {
		return steps.FromMember(err, w.member.Name, "read claims and volumes")
	}
	return w.onlyPrimary(others)
}

// onlyPrimary reports whether the primary alone has data: a pod that has other data goes on with it when the primary has
// the restored, and MySQL would not notice. Others are the claims of pods beside the primary, which need not run.
func (w *work) onlyPrimary(others []string) steps.Result {
	then := "set spec.database.replicas to 1, delete the claims of the others"
	if len(others) > 0 {
		then = fmt.Sprintf("set spec.database.replicas to 1, run kubectl delete pvc -n %s %s there", w.restore.Namespace, strings.Join(others, " "))
	}
	if copied := w.targetFacts.copy; copied != nil && copied.Spec.Database != nil && ptr.Deref(copied.Spec.Database.Replicas, 1) > 1 {
		return steps.Fail(v1.ReasonInUse, "the database in %s has %d pods, and all but the first would keep the data that they have: "+
			"%s, and try again", w.member.Name, *copied.Spec.Database.Replicas, then)
	}
	if len(others) > 0 {
		return steps.Fail(v1.ReasonInUse, "former pods of the database left their data in %s, with which more pods would go on: "+
			"%s, and try again", w.member.Name, then)
	}
	return steps.Result{}
}

// otherClaims returns the claims that are there of pods of the database beside the primary.
func (w *work) otherClaims(ctx context.Context, reader client.Reader) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	var there []string
	for _, name := range render.OtherDatabaseClaims(w.backup.Spec.AppRef.Name) {
		found, err := w.readClaim(ctx, reader, name)
		if err != nil {
			return nil, err
		}
		if found != nil {
			there = append(there, name)
		}
	}
	return there, nil
}
