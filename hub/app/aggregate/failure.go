package aggregate

import (
	"slices"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Failure describes why a copy, or what is propagated beside it, could not be written or deleted.
type Failure struct {
	// Reason is one of the reasons of package v1: Conflict, NewerInMember, DeletedInMember,
	// NewerElsewhere, Forbidden, InvalidSpec, UpgradeRefused, NamespaceTerminating, ResidueFull or ApplyFailed.
	Reason string
	// Message describes the state in part of a sentence. It is the same for the same state.
	Message string
	// Lasting is true if it might have passed by itself, and has not for minutes.
	Lasting bool
	// Earlier is true if the attempt was about an earlier order: whether the present one fails is not known yet.
	Earlier bool
}

// Contended reports whether another client changes what was written each time that it is repaired.
func (f *Failure) Contended() bool {
	return f != nil && f.Reason == v1.ReasonFieldManagerConflict
}

// NeedsIntervention reports whether the failure persists until a user changes something.
func (f *Failure) NeedsIntervention() bool {
	if f == nil || f.Earlier || f.Lasting {
		return f != nil && !f.Earlier
	}
	switch f.Reason {
	case v1.ReasonConflict, v1.ReasonNewerInMember, v1.ReasonDeletedInMember, v1.ReasonNewerElsewhere, v1.ReasonForbidden, v1.ReasonInvalidSpec, v1.ReasonUpgradeRefused, v1.ReasonResidueFull:
		return true
	default:
		return false
	}
}

// failures returns why something could not be written in a cluster: what waits for a user comes first, and what is about
// the copy before what is beside it.
func (c Cluster) failures() []*Failure {
	var all []*Failure
	if c.Failure != nil {
		all = append(all, c.Failure)
	}
	if c.LeftBehind != "" {
		all = append(all, &Failure{Reason: v1.ReasonUpgradeRefused, Message: c.LeftBehind})
	}
	if c.PropagationFailure != nil {
		all = append(all, c.PropagationFailure)
	}
	rank := map[bool]int{true: -1}
	slices.SortStableFunc(all, func(a, b *Failure) int { return rank[a.NeedsIntervention()] - rank[b.NeedsIntervention()] })
	return all
}

// setFailures records failures in an entry: it has the reason of the first, and the messages of all.
func setFailures(e *v1.ClusterStatus, failures []*Failure) {
	if len(failures) == 0 {
		return
	}
	f := failures[0]
	e.Ready, e.Reason, e.Message = false, f.Reason, joined(failures)
	if f.NeedsIntervention() {
		e.Phase, e.Stalled = v1.PhaseFailed, true
		return
	}
	if e.Phase == v1.PhaseRunning {
		e.Phase = v1.PhaseUpdating
	}
}

// joined returns the messages of failures. If they are too long, each has the same share.
func joined(failures []*Failure) string {
	const separator = "; "
	messages := make([]string, 0, len(failures))
	for _, f := range failures {
		messages = append(messages, f.Message)
	}
	messages = slices.Compact(messages)
	if text := strings.Join(messages, separator); len(text) <= maxMessage {
		return v1.Excerpt(text, maxMessage)
	}
	share := (maxMessage+len(separator))/len(messages) - len(separator)
	for i := range messages {
		messages[i] = v1.Excerpt(messages[i], share)
	}
	return strings.Join(messages, separator)
}
