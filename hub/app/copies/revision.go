package copies

import (
	"cmp"
	"context"
	"errors"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// releases returns a function that returns the revision that a cluster is to have, and whether it is another one than
// that of the spec, where the one that was decided is given. An edit that is yet to be decided about does not reach
// the copy. It returns nil for an application without a rollout.
func releases(app *v1.EcommerceApp) func(revision int64) (int64, bool) {
	decided := app.Status.Rollout
	if app.Spec.Rollout == nil || decided == nil {
		return nil
	}
	_, hash, err := rollout.Template(rollout.RevisionSpec(app))
	isOfSpec := err == nil && hash == decided.SpecHash
	return func(revision int64) (int64, bool) {
		return cmp.Or(revision, decided.Target()), !isOfSpec || revision != decided.Revision
	}
}

// addRevision adds the revision that an application is to have in the member. A revision that does not exist is a fact
// about the copy, not an error.
func (l *MemberQueue) addRevision(ctx context.Context, t *task, facts *MemberFacts) error {
	if t.order == nil {
		return nil
	}
	facts.revision = t.order.Revision
	if !t.order.Earlier || l.holds(t.App) {
		return nil // Of an application that is held nothing is written.
	}
	var err error
	facts.held, err = l.options.Revision(ctx, t.App, facts.revision)
	if missing, is := errors.AsType[*apierror.SpecError](err); is {
		facts.holdErr, err = missing, nil
	}
	return err
}

// mayReturn reports whether clusters have another revision of an application than the spec, or may get
// one again: a rollout is not complete, or an edit is yet to be decided about.
func mayReturn(app *v1.EcommerceApp) bool {
	decided := app.Status.Rollout
	if app.Spec.Rollout == nil || decided == nil {
		return false
	}
	_, hash, err := rollout.Template(rollout.RevisionSpec(app))
	return err != nil || hash != decided.SpecHash || decided.State != v1.RolloutComplete
}
