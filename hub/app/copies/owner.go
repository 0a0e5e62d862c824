package copies

import (
	"errors"
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/propagate"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// ownerAfter returns the copy after an attempt, where live is what the cache has of it, or nil. It
// returns nil if the copy is another application's, is being deleted, or is yet to be seen.
func (m *MemberQueue) ownerAfter(app, live *v1.EcommerceApp, result apply.Result) *state.Owner {
	owner := &state.Owner{Created: result.Outcome == apply.Created, ReadOnly: m.isPaused(app)}
	switch {
	case result.Outcome == apply.Terminating:
		return nil
	case live != nil:
		owner.UID, owner.Leftover = live.UID, propagate.Leftover(live, app.Spec.Propagate)
		if live.DeletionTimestamp != nil || result.Outcome == "" && !owned(app)(live) {
			return nil
		}
	case result.Object != nil:
		owner.UID = result.Object.GetUID()
	case !owner.ReadOnly:
		return nil
	}
	return owner
}

// refusedOwner returns the copy after an attempt that the hub or the member refused, where live is what the cache has of
// it, or nil. Its pods go on, and with them the objects that it lists already. It returns nil if there are none, if the
// copy is another application's or is being deleted, if it waits for the user, or after another error.
func (m *MemberQueue) refusedOwner(app, live *v1.EcommerceApp, err error) *state.Owner {
	class := apierror.Classify(err)
	refused := class == apierror.InvalidSpec || class == apierror.Invalid || class == apierror.Forbidden
	if _, waits := errors.AsType[*recovery.UnknownError](err); !refused || waits || live == nil || live.DeletionTimestamp != nil || !owned(app)(live) {
		return nil
	}
	listed := slices.DeleteFunc(propagate.Recorded(live), func(o v1.PropagatedObject) bool { return !slices.Contains(app.Spec.Propagate, o) })
	if len(listed) == 0 {
		return nil
	}
	return &state.Owner{UID: live.UID, ReadOnly: m.isPaused(app), Only: listed}
}

// remaining returns the objects that a copy lists, that its application no longer propagates, and
// that are not known to be deleted.
func (m *MemberQueue) remaining(app, live *v1.EcommerceApp) []v1.PropagatedObject {
	return slices.DeleteFunc(propagate.Leftover(live, app.Spec.Propagate), func(o v1.PropagatedObject) bool {
		return m.memory.IsPruned(keyOf(app), live.UID, o)
	})
}

// intentFor returns the intent for a copy: what copyFor returns, with the objects that are propagated
// beside it. They are recorded before they are written, so that they are found again.
func (m *MemberQueue) intentFor(app *v1.EcommerceApp, facts memberFacts, live *v1.EcommerceApp) (*v1.EcommerceApp, error) {
	intent, err := copyFor(app, facts, live)
	if err != nil {
		return intent, err
	}
	listed := app.Spec.Propagate
	if live != nil {
		listed = slices.Concat(listed, m.remaining(app, live))
	}
	if text := propagate.Record(listed...); text != "" {
		intent.Annotations[v1.PropagatedAnnotation] = text
	}
	return intent, nil
}
