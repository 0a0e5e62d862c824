package copies

import (
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/propagate"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

// writtenCopy is a copy that exists in the member.
type writtenCopy struct {
	// copy has the identity of the copy, and the annotations that the cache has.
	copy *v1.EcommerceApp
	// created means that this attempt created it.
	created bool
}

// copyAfter returns the copy after an attempt, where live is what the cache has of it, or nil. It
// returns nil if the copy is another application's, is being deleted, or is yet to be seen.
func (l *MemberQueue) copyAfter(app, live *v1.EcommerceApp, result apply.Result) *writtenCopy {
	after := &v1.EcommerceApp{}
	after.Namespace, after.Name = app.Namespace, app.Name
	after.Labels = map[string]string{v1.ClusterLabel: l.name}
	switch {
	case result.Outcome == apply.Terminating:
		return nil
	case live != nil:
		after.UID, after.Annotations = live.UID, live.Annotations
		if live.DeletionTimestamp != nil || result.Outcome == "" && !owned(app)(live) {
			return nil
		}
	case result.Object != nil:
		after.UID = result.Object.GetUID()
	case !l.holds(app):
		return nil
	}
	return &writtenCopy{copy: after, created: result.Outcome == apply.Created}
}

// remaining returns the objects that a copy lists, that its application no longer propagates, and
// that are not known to be deleted.
func (l *MemberQueue) remaining(app, live *v1.EcommerceApp) []v1.PropagatedObject {
	return slices.DeleteFunc(propagate.Leftover(live, app.Spec.Propagate), func(o v1.PropagatedObject) bool {
		return l.memory.IsPruned(keyOf(app), live.UID, o)
	})
}

// intentFor returns the intent for a copy: what copyFor returns, with the objects that are propagated
// beside it. They are recorded before they are written, so that they are found again.
func (l *MemberQueue) intentFor(app *v1.EcommerceApp, facts MemberFacts, live *v1.EcommerceApp) (*v1.EcommerceApp, error) {
	intent, err := copyFor(app, facts, live)
	if err != nil {
		return intent, err
	}
	listed := app.Spec.Propagate
	if live != nil {
		listed = slices.Concat(listed, l.remaining(app, live))
	}
	if text := propagate.Record(listed...); text != "" {
		intent.Annotations[v1.PropagatedAnnotation] = text
	}
	return intent, nil
}
