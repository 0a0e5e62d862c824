package restore

import (
	"context"

	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/accounts/verdict"
)

// maxAttempts is how often a volume is asked for that fails after it was accepted.
const maxAttempts = 3

// States of a restored volume that the cloud does not have.
const (
	// stateExchanging means that the claim in its place is being taken away.
	stateExchanging = "Exchanging"
	// stateBound means that its claim is bound to it.
	stateBound = "Bound"
)

// makeVolumes makes the volumes in the cloud.
func (w *work) makeVolumes(ctx context.Context) verdict.Verdict {
	if w.made() {
		return verdict.Verdict{}
	}
	session, err := w.options.Accounts.Session(ctx, w.backup.Status.Account, w.member.Status.Region)
	if err != nil {
		return verdict.Judge(err, "connecting to the cloud")
	}
	waiting := verdict.Verdict{}
	for i := range w.restore.Status.Volumes {
		v := &w.restore.Status.Volumes[i]
		if ready(v) {
			continue
		}
		if stop := w.makeVolume(ctx, session, v); stop.Stops() {
			if stop.Fatal {
				return stop
			}
			waiting = stop
		}
	}
	return waiting
}

// made tells whether all volumes are there.
func (w *work) made() bool {
	for i := range w.restore.Status.Volumes {
		if !ready(&w.restore.Status.Volumes[i]) {
			return false
		}
	}
	return true
}

func ready(v *v1.RestoredVolume) bool {
	return v.State == string(cloud.StateReady) || v.State == stateExchanging || v.State == stateBound
}

func (w *work) makeVolume(ctx context.Context, session cloud.Session, v *v1.RestoredVolume) verdict.Verdict {
	made, err := session.Volumes.EnsureVolume(ctx, cloud.VolumeSpec{
		Name: w.nameOf(v.Claim), Zone: v.Zone,
		Snapshot:  cloud.SnapshotRef{Region: w.member.Status.Region, ID: v.Snapshot},
		SizeBytes: w.sizeFor(v.Claim), Class: w.place.class.Parameters, Attempt: int(v.Attempt),
		Tags: cloud.Tags{
			cloud.TagHub: w.options.HubUID, cloud.TagApp: w.backup.Status.AppUID,
			cloud.TagNamespace: w.restore.Namespace, cloud.TagAppName: w.backup.Spec.AppName,
			cloud.TagCluster: w.member.Name, cloud.TagClaim: v.Claim, cloud.TagBackup: w.backup.Name,
		},
	})
	if err != nil {
		return verdict.Judge(err, "making the volume of the claim "+v.Claim)
	}
	v.Volume, v.State = made.Ref.Handle, string(made.State)
	switch made.State {
	case cloud.StateReady:
		return verdict.Verdict{}
	case cloud.StateFailed:
		v.Volume, v.State = "", ""
		if v.Attempt++; v.Attempt >= maxAttempts {
			return verdict.Fail(v1.ReasonSnapshotFailed, "the provider could not make the volume of the claim %s: %s", v.Claim, verdict.Clip(made.Message))
		}
		return verdict.Hold(verdict.Transient, v1.ReasonRetrying, "the provider could not make the volume of the claim %s; asking again", v.Claim)
	default:
		return verdict.Hold(verdict.Poll(w.age()), v1.ReasonCreatingVolumes, "the provider makes the volumes")
	}
}

// sizeFor is how large a volume is to be: as the database asks for by now, if that is
// more than the snapshot needs. 0 is the snapshot's size.
func (w *work) sizeFor(claim string) int64 {
	var least, wanted int64
	for i := range w.backup.Status.Snapshots {
		if s := &w.backup.Status.Snapshots[i]; s.Claim == claim {
			if q, err := resource.ParseQuantity(s.Size); err == nil {
				least = q.Value()
			}
		}
	}
	if w.app != nil && w.app.Spec.Database != nil && !w.restore.Spec.Verify {
		if q, err := w.app.Spec.Database.StorageQuantity(); err == nil {
			wanted = q.Value()
		}
	}
	if wanted > least {
		return wanted
	}
	return 0
}
