package volumes

import (
	"context"
	"errors"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/accounts/stepresult"
)

// maxAttempts is how often a volume is asked for that fails after it was accepted.
const maxAttempts = 3

// States of a restored volume that the cloud does not have.
const (
	// Exchanging means that the claim in its place is being taken away.
	Exchanging = "Exchanging"
	// Bound means that its claim is bound to it.
	Bound = "Bound"
)

// creating is the state of a volume that was asked for, or is about to be.
const creating = string(cloud.StateCreating)

// Maker makes and deletes the volumes of one Restore. All fields are required.
type Maker struct {
	// Connect opens the session of the account, in the region of the member.
	Connect func(ctx context.Context) (cloud.Session, error)
	// Spec says what a volume is to be: the same each time, but for its attempt.
	Spec func(v *v1.RestoredVolume) cloud.VolumeSpec
	// Save writes the status down that the volumes are in.
	Save func(ctx context.Context) error
	// Owner is whose volumes these are.
	Owner cloud.Owner
	// Age is for how long the Restore has been at it.
	Age time.Duration
}

// Ready reports whether a volume is there.
func Ready(v *v1.RestoredVolume) bool {
	return v.State == string(cloud.StateReady) || v.State == Exchanging || v.State == Bound
}

// AllBound reports whether all claims are bound to restored volumes, and there are such.
func AllBound(all []v1.RestoredVolume) bool {
	for i := range all {
		if all[i].State != Bound {
			return false
		}
	}
	return len(all) > 0
}

// Exchanged reports whether a claim was taken away or bound: from there on there is no way back.
func Exchanged(all []v1.RestoredVolume) bool {
	for i := range all {
		if v := &all[i]; v.State == Bound || v.State == Exchanging {
			return true
		}
	}
	return false
}

// Make asks for the volumes that are not there, and brings their states up to date. The
// zero Result means that all are there.
func (m Maker) Make(ctx context.Context, all []v1.RestoredVolume) stepresult.Result {
	var missing []*v1.RestoredVolume
	for i := range all {
		if v := &all[i]; !Ready(v) {
			missing = append(missing, v)
		}
	}
	if len(missing) == 0 {
		return stepresult.Result{}
	}
	session, err := m.Connect(ctx)
	if err != nil {
		return stepresult.FromError(err, "connecting to the cloud")
	}
	waiting := stepresult.Result{}
	for _, v := range missing {
		if stop := m.make(ctx, session, v); stop.Stops() {
			if stop.Fatal {
				return stop
			}
			waiting = stop
		}
	}
	return waiting
}

func (m Maker) make(ctx context.Context, session cloud.Session, v *v1.RestoredVolume) stepresult.Result {
	fresh := v.State == ""
	if fresh {
		v.State = creating
		if err := m.Save(ctx); err != nil {
			v.State = ""
			return stepresult.Hold(stepresult.PollFirst, v1.ReasonRetrying, "noting that the volume of the claim %s is asked for", v.Claim)
		}
	}
	made, err := session.Volumes.EnsureVolume(ctx, m.Spec(v))
	if err != nil {
		if fresh && !perhaps(err) {
			v.State = ""
		}
		return stepresult.FromError(err, "making the volume of the claim "+v.Claim)
	}
	v.Volume, v.State = made.Ref.Handle, string(made.State)
	switch made.State {
	case cloud.StateReady:
		return stepresult.Result{}
	case cloud.StateFailed:
		// It may be there all the same, and nobody would ask for it again.
		if err := m.delete(ctx, session, v); err != nil {
			return stepresult.FromError(err, "deleting the volume of the claim "+v.Claim+" that failed")
		}
		if v.Attempt++; v.Attempt >= maxAttempts {
			return stepresult.Fail(v1.ReasonSnapshotFailed, "the provider could not make the volume of the claim %s: %s", v.Claim, stepresult.Clip(made.Message))
		}
		return stepresult.Hold(stepresult.Transient, v1.ReasonRetrying, "the provider could not make the volume of the claim %s; asking again", v.Claim)
	default:
		return stepresult.Hold(stepresult.Poll(m.Age), v1.ReasonCreatingVolumes, "the provider makes the volumes")
	}
}

// Delete deletes a volume that was made, or may have been, unless it is gone or not ours.
// Errors are the cloud's.
func (m Maker) Delete(ctx context.Context, v *v1.RestoredVolume) error {
	if v.Volume == "" && v.State != creating {
		return nil // Never asked for, or refused.
	}
	session, err := m.Connect(ctx)
	if err != nil {
		return err
	}
	if v.Volume == "" {
		made, err := session.Volumes.EnsureVolume(ctx, m.Spec(v))
		if none(err) {
			v.State = ""
			return nil
		}
		if err != nil {
			return err
		}
		v.Volume, v.Zone = made.Ref.Handle, made.Ref.Zone
	}
	return m.delete(ctx, session, v)
}

func (m Maker) delete(ctx context.Context, session cloud.Session, v *v1.RestoredVolume) error {
	ref := cloud.VolumeRef{Region: m.Spec(v).Snapshot.Region, Zone: v.Zone, Handle: v.Volume}
	if err := session.Volumes.DeleteVolume(ctx, ref, m.Owner); err != nil && !foreign(err) {
		return err
	}
	v.Volume, v.State = "", ""
	return nil
}

// perhaps reports whether what was asked for may have been made in spite of an error.
func perhaps(err error) bool {
	class := cloud.ClassOf(err)
	return class == cloud.ClassAmbiguous || class == ""
}

// none reports whether an error means that there is no volume of the name: it was looked
// for, and the request to make it was refused.
func none(err error) bool {
	switch cloud.ClassOf(err) {
	case cloud.ClassNotFound, cloud.ClassConflict, cloud.ClassInvalid, cloud.ClassUnsupported, cloud.ClassQuota:
		return true
	default:
		return false
	}
}

// foreign reports whether an error is the refusal to touch what is not ours.
func foreign(err error) bool {
	e, ok := errors.AsType[*cloud.Error](err)
	return ok && e.Code == cloud.CodeForeign
}
