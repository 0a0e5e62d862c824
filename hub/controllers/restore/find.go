package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/accounts/verdict"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// find reads what is to be restored on the hub, and tells whether it can be.
func (w *work) find(ctx context.Context) (verdict.Verdict, error) {
	w.backup, w.member, w.app = &v1.Backup{}, &v1.MemberCluster{}, &v1.EcommerceApp{}
	err := w.client.Get(ctx, client.ObjectKey{Namespace: w.restore.Namespace, Name: w.restore.Spec.BackupName}, w.backup)
	if apierrors.IsNotFound(err) {
		return verdict.Fail(v1.ReasonBackupNotFound, "there is no Backup %q", w.restore.Spec.BackupName), nil
	}
	if err != nil {
		return verdict.Verdict{}, fmt.Errorf("getting the backup: %w", err)
	}
	err = w.client.Get(ctx, client.ObjectKey{Name: w.clusterName()}, w.member)
	if apierrors.IsNotFound(err) {
		return verdict.Fail(v1.ReasonClusterDetached, "there is no MemberCluster %q", w.clusterName()), nil
	}
	if err != nil {
		return verdict.Verdict{}, fmt.Errorf("getting the member: %w", err)
	}
	err = w.client.Get(ctx, client.ObjectKey{Namespace: w.restore.Namespace, Name: w.backup.Spec.AppName}, w.app)
	if apierrors.IsNotFound(err) {
		w.app = nil
	} else if err != nil {
		return verdict.Verdict{}, fmt.Errorf("getting the application: %w", err)
	}
	if w.restore.Status.StartTime == nil {
		w.restore.Status.StartTime = seconds(w.now)
	}
	return w.possible(), nil
}

func (w *work) clusterName() string {
	if w.restore.Spec.ClusterName != "" {
		return w.restore.Spec.ClusterName
	}
	return w.backup.Spec.ClusterName
}

// possible tells whether the backup can be restored there.
func (w *work) possible() verdict.Verdict {
	b, m := &w.backup.Status, w.member
	switch {
	case w.exchanged():
		return verdict.Verdict{} // Too late to refuse.
	case !w.backup.DeletionTimestamp.IsZero():
		return verdict.Fail(v1.ReasonBackupNotFound, "Backup %q is being deleted", w.backup.Name)
	case w.backup.Spec.Method == v1.BackupDump:
		return verdict.Fail(v1.ReasonBackupNotReady, "Backup %q is a dump, which is restored by hand: cloud/README.md says how", w.backup.Name)
	case b.Phase == v1.BackupFailed:
		return verdict.Fail(v1.ReasonBackupNotReady, "Backup %q has failed: %s", w.backup.Name, b.Message)
	case b.Phase != v1.BackupCompleted && b.Phase != v1.BackupFinalizing:
		return verdict.Hold(verdict.Member, v1.ReasonBackupNotReady, "Backup %q is not complete", w.backup.Name)
	case m.Status.Provider == "" || m.Status.Region == "":
		return verdict.Hold(verdict.Member, v1.ReasonProviderUnknown, "provider and region of %s are not known yet", m.Name)
	case m.Status.Provider != b.Provider:
		return verdict.Fail(v1.ReasonProviderMismatch, "Backup %q has snapshots of the provider %s, and %s is of %s", w.backup.Name, b.Provider, m.Name, m.Status.Provider)
	case m.Spec.CloudAccountRef == nil || m.Spec.CloudAccountRef.Name != b.Account:
		return verdict.Fail(v1.ReasonProviderMismatch, "the snapshots are in CloudAccount %q, and %s has another in spec.cloudAccountRef", b.Account, m.Name)
	}
	if w.restore.Spec.Verify {
		return w.provable()
	}
	if why := w.mismatch(); why != "" {
		return verdict.Fail(v1.ReasonEngineMismatch, "%s", why)
	}
	return verdict.Verdict{}
}

// mismatch tells why the application's engine could not read the data.
func (w *work) mismatch() string {
	if w.app == nil || w.app.Spec.Database == nil {
		return ""
	}
	db, b := w.app.Spec.Database, &w.backup.Status
	switch {
	case db.Engine != b.Engine:
		return fmt.Sprintf("the backup is of %s, and the application's database is %s", b.Engine, db.Engine)
	case !database.SameFiles(db.Version, b.Version):
		return fmt.Sprintf("the backup is of %s %s, whose files version %s cannot read: set spec.database.version to %s",
			b.Engine, b.Version, db.Version, b.Version)
	default:
		return ""
	}
}

// choose writes down which snapshots the volumes are made from, and where, once.
func (w *work) choose(ctx context.Context) verdict.Verdict {
	if v := w.lookAround(ctx); v.Stops() {
		return v
	}
	s := &w.restore.Status
	if len(s.Volumes) > 0 {
		return verdict.Verdict{}
	}
	if v := w.replaceable(ctx); v.Stops() {
		return v
	}
	var chosen []v1.RestoredVolume
	for i := range w.backup.Status.Snapshots {
		snapshot := &w.backup.Status.Snapshots[i]
		id := w.snapshotHere(snapshot)
		if id == "" && w.backup.Status.Phase == v1.BackupFinalizing && slices.Contains(w.backup.Spec.CopyToRegions, w.member.Status.Region) {
			return verdict.Hold(verdict.Member, v1.ReasonBackupNotReady, "the copy of Backup %q in %s is being made", w.backup.Name, w.member.Status.Region)
		}
		if id == "" {
			return verdict.Fail(v1.ReasonSnapshotMissing, "Backup %q has no snapshot in %s: give %s in copyToRegions of the backups to come",
				w.backup.Name, w.member.Status.Region, w.member.Status.Region)
		}
		name := w.claimName(snapshot.Claim)
		live := w.place.claims[name]
		if live != nil && !w.restore.Spec.Overwrite {
			return verdict.Fail(v1.ReasonVolumeInUse, "the database has the claim %s in %s: give spec.overwrite: true to put the restored volume in its place",
				name, w.member.Name)
		}
		chosen = append(chosen, v1.RestoredVolume{
			Claim: name, Snapshot: id, Zone: w.zoneFor(live),
			PersistentVolume: "shopfleet-" + w.nameOf(name),
		})
	}
	if len(chosen) == 0 {
		return verdict.Fail(v1.ReasonBackupNotReady, "Backup %q has no snapshots", w.backup.Name)
	}
	s.Volumes = chosen
	return verdict.Verdict{}
}

// replaceable tells whether the data of a database that runs there can be replaced: by
// data that its pods can all work with, and that has the passwords it is asked with.
func (w *work) replaceable(ctx context.Context) verdict.Verdict {
	if w.place.copy == nil || w.place.copy.Spec.Database == nil {
		return verdict.Verdict{}
	}
	if n := w.place.copy.Spec.Database.Replicas; n != nil && *n > 1 {
		return verdict.Fail(v1.ReasonInUse, "the database in %s has %d pods, and all but the first would keep the data that they have: "+
			"set spec.database.replicas to 1, and delete the claims of the others before there are more again", w.member.Name, *n)
	}
	if w.member.Name == w.backup.Spec.ClusterName {
		return verdict.Verdict{}
	}
	return w.samePasswords(ctx)
}

// snapshotHere returns the snapshot that a volume in the member's region can be made from.
func (w *work) snapshotHere(s *v1.VolumeSnapshot) string {
	region := w.member.Status.Region
	if csi.CapabilitiesOf(w.backup.Status.Provider).Copy == csi.CopyByLocation || s.Region == region {
		return s.ID
	}
	for _, c := range s.Copies {
		if c.Region == region && c.State == string(cloud.StateReady) {
			return c.ID
		}
	}
	return ""
}

// zoneFor is where a volume is to be: where it is asked for, else where the one is that
// it replaces, else in the first zone of the cluster.
func (w *work) zoneFor(live *claim) string {
	switch {
	case w.restore.Spec.Zone != "":
		return w.inProviderWords(w.restore.Spec.Zone)
	case live != nil:
		return live.ref.Zone
	case len(w.member.Status.Zones) > 0:
		return w.inProviderWords(w.member.Status.Zones[0])
	default:
		return ""
	}
}

// inProviderWords turns the zone of a node into that of a volume: Azure's labels have
// the region in front.
func (w *work) inProviderWords(zone string) string {
	if w.member.Status.Provider == v1.ProviderAzure {
		return strings.TrimPrefix(zone, w.member.Status.Region+"-")
	}
	return zone
}

// nameOf is the name of a volume in the cloud.
func (w *work) nameOf(claim string) string {
	return cloud.Name(w.options.HubUID, string(w.restore.UID), claim, "restore")
}
