package restore

import (
	"context"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/accounts/stepresult"
	"github.com/shopfleet/shopfleet/hub/controllers/restore/compatibility"
	"github.com/shopfleet/shopfleet/hub/controllers/restore/volumes"
)

// makeVolumes makes the volumes in the cloud.
func (w *work) makeVolumes(ctx context.Context) stepresult.Result {
	return w.maker().Make(ctx, w.restore.Status.Volumes)
}

// maker makes and deletes the volumes of this Restore.
func (w *work) maker() volumes.Maker {
	return volumes.Maker{
		Connect: func(ctx context.Context) (cloud.Session, error) {
			return w.options.Accounts.Session(ctx, w.backup.Status.Account, w.member.Status.Region)
		},
		Spec: w.volumeSpec, Save: w.save, Owner: w.owner(), Age: w.age(),
	}
}

// volumeSpec says what a volume is to be.
func (w *work) volumeSpec(v *v1.RestoredVolume) cloud.VolumeSpec {
	wanted := w.database()
	if w.restore.Spec.Verify {
		wanted = nil
	}
	return cloud.VolumeSpec{
		Name: w.nameOf(v.Claim), Zone: v.Zone,
		Snapshot:  cloud.SnapshotRef{Region: w.member.Status.Region, ID: v.Snapshot},
		SizeBytes: compatibility.Size(wanted, &w.backup.Status, v.Claim), Class: w.targetFacts.class.Parameters, Attempt: int(v.Attempt),
		Tags: cloud.Tags{
			cloud.TagHub: w.options.HubUID, cloud.TagApp: w.backup.Status.AppUID,
			cloud.TagNamespace: w.restore.Namespace, cloud.TagAppName: w.backup.Spec.AppRef.Name,
			cloud.TagCluster: w.member.Name, cloud.TagClaim: v.Claim, cloud.TagBackup: w.backup.Name,
		},
	}
}
