package copies

import (
	"context"
	"errors"

	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// addSpec adds the spec that an application has in the member; that of its next copy while nothing is written. A
// revision that does not exist, or an override that cannot be applied, is a fact about the copy, not an error.
func (m *MemberQueue) addSpec(ctx context.Context, t *task, facts *MemberFacts) error {
	target := revisions.Target{Member: facts.member}
	if t.order != nil {
		target.Revision, target.Earlier, target.Share = t.order.Revision, t.order.Earlier && !m.holds(t.App), t.order.Share
	}
	var err error
	facts.effective, err = m.options.Revisions.In(ctx, t.App, target)
	if refused, is := errors.AsType[*apierror.SpecError](err); is {
		facts.specErr, err = refused, nil
	}
	return err
}
