package restore

import (
	"context"
	"errors"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// maxVolumeAttempts bounds the requests for a volume that fails after the provider accepted it.
const maxVolumeAttempts = 3

// volumeMaker makes and deletes the volumes of one Restore. All fields are required.
type volumeMaker struct {
	// connect opens the session of the account, in the region of the member.
	connect func(ctx context.Context) (cloud.Session, error)
	// spec returns the specification of a volume, the same each time except for its attempt.
	spec func(v *v1.RestoredVolume) cloud.VolumeSpec
	// save writes the status down that the volumes are in.
	save func(ctx context.Context) error
	// owner is the hub and the application that own the volumes.
	owner cloud.Owner
	// age is for how long the Restore has been at it.
	age time.Duration
}

// volumeReady reports whether a volume is there.
func volumeReady(v *v1.RestoredVolume) bool {
	return v.State == v1.RestoredVolumeReady || v.State == v1.RestoredVolumeReplacing || v.State == v1.RestoredVolumeBound
}

// createAll requests the missing volumes, and updates their states. The zero Result means that
// all exist.
func (m volumeMaker) createAll(ctx context.Context, all []v1.RestoredVolume) steps.Result {
	var missing []*v1.RestoredVolume
	for i := range all {
		if v := &all[i]; !volumeReady(v) {
			missing = append(missing, v)
		}
	}
	if len(missing) == 0 {
		return steps.Result{}
	}
	session, err := m.connect(ctx)
	if err != nil {
		return steps.FromError(err, "connecting to the cloud")
	}
	waiting := steps.Result{}
	for _, v := range missing {
		if stop := m.create(ctx, session, v); stop.Stops() {
			if stop.Fatal {
				return stop
			}
			waiting = stop
		}
	}
	return waiting
}

func (m volumeMaker) create(ctx context.Context, session cloud.Session, v *v1.RestoredVolume) steps.Result {
	fresh := v.State == ""
	if fresh {
		v.State = v1.RestoredVolumeCreating
		if err := m.save(ctx); err != nil {
			v.State = ""
			return steps.RetryAfter(steps.PollFirst, v1.ReasonRetrying, "recording the request for the volume of the claim %s", v.Claim)
		}
	}
	made, err := session.Volumes.EnsureVolume(ctx, m.spec(v))
	if err != nil {
		if fresh && !mayExist(err) {
			v.State = ""
		}
		return steps.FromError(err, "creating the volume of the claim "+v.Claim)
	}
	v.Volume, v.State = made.Ref.Handle, v1.RestoredVolumeCreating
	switch made.State {
	case cloud.StateReady:
		v.State = v1.RestoredVolumeReady
		return steps.Result{}
	case cloud.StateFailed:
		v.State = v1.RestoredVolumeFailed
		// It may exist all the same, and would not be requested again.
		if err := m.deleteVolume(ctx, session, v); err != nil {
			return steps.FromError(err, "deleting the volume of the claim "+v.Claim+" that failed")
		}
		if v.Attempt++; v.Attempt >= maxVolumeAttempts {
			return steps.Fail(v1.ReasonSnapshotFailed, "the provider could not create the volume of the claim %s: %s", v.Claim, v1.Excerpt(made.Message, steps.MaxMessage))
		}
		return steps.RetryAfter(steps.Transient, v1.ReasonRetrying, "the provider could not create the volume of the claim %s; asking again", v.Claim)
	default:
		return steps.RetryAfter(steps.Poll(m.age), v1.ReasonCreatingVolumes, "the provider makes the volumes")
	}
}

// delete deletes a volume that was created, or may have been, unless it is gone or not ours. A volume
// whose response was lost is found by requesting it once more, because package cloud has no other way: one
// that was never created is created then, and deleted. Errors are the cloud's.
func (m volumeMaker) delete(ctx context.Context, v *v1.RestoredVolume) error {
	if v.Volume == "" && v.State != v1.RestoredVolumeCreating {
		return nil // Never asked for, or refused.
	}
	session, err := m.connect(ctx)
	if err != nil {
		return err
	}
	if v.Volume == "" {
		made, err := session.Volumes.EnsureVolume(ctx, m.spec(v))
		if isAbsent(err) {
			v.State = ""
			return nil
		}
		if err != nil {
			return err
		}
		v.Volume, v.Zone = made.Ref.Handle, made.Ref.Zone
	}
	return m.deleteVolume(ctx, session, v)
}

func (m volumeMaker) deleteVolume(ctx context.Context, session cloud.Session, v *v1.RestoredVolume) error {
	ref := cloud.VolumeRef{Region: m.spec(v).Snapshot.Region, Zone: v.Zone, Handle: v.Volume}
	if err := session.Volumes.DeleteVolume(ctx, ref, m.owner); err != nil && !isForeign(err) {
		return err
	}
	v.Volume, v.State = "", ""
	return nil
}

// mayExist reports whether what was asked for may have been made in spite of an error.
func mayExist(err error) bool {
	class := cloud.ClassOf(err)
	return class == cloud.ClassAmbiguous || class == ""
}

// isAbsent reports whether an error means that there is no volume of the name: it was looked
// for, and the request to make it was refused.
func isAbsent(err error) bool {
	switch cloud.ClassOf(err) {
	case cloud.ClassNotFound, cloud.ClassConflict, cloud.ClassInvalid, cloud.ClassUnsupported, cloud.ClassQuota:
		return true
	default:
		return false
	}
}

// isForeign reports whether an error is the refusal to touch what is not ours.
func isForeign(err error) bool {
	e, ok := errors.AsType[*cloud.Error](err)
	return ok && e.Code == cloud.CodeForeign
}
