package copies

import (
	"cmp"
	"context"
	"errors"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// addRevision adds the revision that an application is to have in the member. An edit that is yet to be
// decided about does not reach the copy: its revision is the one that was decided last. A revision that
// does not exist is a fact about the copy, not an error.
func (l *MemberQueue) addRevision(ctx context.Context, app *v1.EcommerceApp, facts *MemberFacts) error {
	entry, decided := EntryOf(app, l.name), app.Status.Rollout
	if app.Spec.Rollout == nil || decided == nil || entry == nil {
		return nil
	}
	facts.revision = entry.Revision
	if l.holds(app) {
		return nil // Nothing is written.
	}
	_, hash, err := rollout.Template(rollout.RevisionSpec(app))
	if err != nil || hash == decided.SpecHash && entry.Revision == decided.Revision {
		return err
	}
	facts.revision = cmp.Or(entry.Revision, decided.Target())
	facts.held, err = l.options.Revision(ctx, app, facts.revision)
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
