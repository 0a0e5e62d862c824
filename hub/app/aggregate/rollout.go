package aggregate

import (
	"fmt"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// rollingOut reports whether clusters have yet to get the revision of the spec, or to prove healthy
// with it.
func (s summary) rollingOut() bool {
	return s.in.Rollout != nil && s.in.Rollout.State != v1.RolloutComplete && s.in.Rollout.State != v1.RolloutFailed && !s.rolledBack()
}

// revisionWaits reports whether the clusters do not get the revision of the spec, or not all of them, until a user or the
// hub does something.
func (s summary) revisionWaits() bool {
	return s.rolledBack() || s.rolloutFailed() || s.in.Unrevised != nil
}

// rolledBack reports whether the revision of the spec was rolled back, or is being rolled back.
func (s summary) rolledBack() bool {
	return s.in.Rollout != nil && s.in.Rollout.Target() != s.in.Rollout.Revision
}

// rolloutFailed reports whether the revision of the spec has failed, so that a user has to correct it. One
// that waits for an approval, or is paused, is as a user wants it.
func (s summary) rolloutFailed() bool {
	if s.in.Unrevised != nil {
		return s.in.Unrevised.Blocking
	}
	return s.in.Rollout != nil && (s.in.Rollout.State == v1.RolloutFailed || s.in.Rollout.State == v1.RolloutRolledBack)
}

// rolloutReason returns the reason of conditions about the rollout.
func (s summary) rolloutReason() string {
	if s.in.Unrevised != nil {
		return v1.ReasonRevisionNotStored
	}
	switch s.in.Rollout.State {
	case v1.RolloutRollingBack, v1.RolloutRolledBack:
		return v1.ReasonRolledBack
	case v1.RolloutFailed:
		return v1.ReasonRolloutFailed
	case v1.RolloutPaused:
		return v1.ReasonRolloutPaused
	case v1.RolloutWaitingForApproval:
		return v1.ReasonWaitingForApproval
	case v1.RolloutWaitingForWindow:
		return v1.ReasonWaitingForWindow
	default:
		return v1.ReasonRollingOut
	}
}

// rolloutMessage describes the rollout.
func (s summary) rolloutMessage() string {
	if s.in.Unrevised != nil {
		return v1.Excerpt("the revision of the spec cannot be stored, and no cluster gets it: "+s.in.Unrevised.Message, maxRolloutMessage)
	}
	r := s.in.Rollout
	var message string
	switch {
	case r.State == v1.RolloutRollingBack:
		message = fmt.Sprintf("revision %d is being rolled back to %d", r.Revision, r.PreviousRevision)
	case s.rolledBack():
		message = fmt.Sprintf("revision %d was rolled back to %d", r.Revision, r.PreviousRevision)
	default:
		message = fmt.Sprintf("revision %d is rolled out to %d of %s", r.Revision, r.Updated, plural(r.Total, "cluster"))
	}
	if r.Message != "" {
		message += ": " + r.Message
	}
	return v1.Excerpt(message, maxRolloutMessage)
}
