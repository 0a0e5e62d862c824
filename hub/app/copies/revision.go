package copies

import (
	"cmp"
	"context"
	"errors"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
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

// addSpec adds the spec that an application has in the member; that of its next copy while nothing is written. A
// revision that does not exist, or an override that cannot be applied, is a fact about the copy, not an error.
func (l *MemberQueue) addSpec(ctx context.Context, t *task, facts *MemberFacts) error {
	target := revisions.Target{Member: facts.member}
	if t.order != nil {
		target.Revision, target.Earlier, target.Share = t.order.Revision, t.order.Earlier && !l.holds(t.App), t.order.Share
	}
	var err error
	facts.effective, err = l.options.Revisions.In(ctx, t.App, target)
	if refused, is := errors.AsType[*apierror.SpecError](err); is {
		facts.specErr, err = refused, nil
	}
	return err
}
