package copies

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/members"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// intended is a copy that is to be written.
type intended struct {
	facts *memberFacts
	// former is the deletion or departure of the application that the member has recorded.
	former members.Deletion
	// live is the present copy; nil if there is none.
	live *v1.EcommerceApp
	// intent is nil until it is made, after what the member has was assessed.
	intent *v1.EcommerceApp
}

// read returns what is known of the copy to write of an application, without the intent. It returns nil while the member
// leaves the fleet, and recovery.ErrUnobserved until enough is known of one that joins.
func (m *MemberQueue) read(ctx context.Context, t *task) (*intended, error) {
	app := t.App
	facts, err := m.facts(ctx, t)
	if err != nil || facts == nil {
		return nil, err
	}
	if facts.member.Status.ClusterUID == "" && (len(app.Spec.Overrides) > 0 || app.Spec.Database != nil) {
		// Overrides select by region and provider, and a database is stored and backed up as the provider
		// and the drivers allow. They are about to be known of a member that joins again: the copy would
		// change twice, and its pods with it.
		return nil, recovery.ErrUnobserved
	}
	c := &intended{facts: facts, former: members.Deletion{App: app.UID, Left: m.record().Left(app.UID), At: m.record().DeletedAt(app.UID)}}
	live := &v1.EcommerceApp{}
	switch err := m.cluster.GetClient().Get(ctx, keyOf(app), live); {
	case apierrors.IsNotFound(err):
	case err != nil:
		return nil, fmt.Errorf("reading the copy: %w", err)
	default:
		c.live = live
	}
	return c, nil
}

// facts returns the facts about the member from the hub's cache, with the spec that an application has there, that of its
// next copy while nothing is written; nil while the member leaves the fleet. A revision that does not exist, or an
// override that cannot be applied, is a fact about the copy, not an error.
func (m *MemberQueue) facts(ctx context.Context, t *task) (*memberFacts, error) {
	member := &v1.MemberCluster{}
	if err := m.hub.Get(ctx, client.ObjectKey{Name: m.name}, member); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading the member: %w", err)
	}
	// A copy must not change because the status of the member was lost.
	member = member.Located(t.entry())
	facts := &memberFacts{
		cluster: m.name, managedBy: m.managedBy, region: member.Status.Region, provider: member.Status.Provider, member: member, order: t.order,
	}
	target := revisions.Target{Member: member}
	if t.order != nil {
		target.Revision, target.Earlier, target.Share = t.order.Revision, t.order.Earlier && !m.isPaused(t.App), t.order.Share
	}
	var err error
	facts.effective, err = m.options.Revisions.In(ctx, t.App, target)
	if refused, is := errors.AsType[*apierror.SpecError](err); is {
		facts.specErr, err = refused, nil
	}
	return facts, err
}

// copyRequest returns the request that writes a copy. The intent becomes the one that is written.
func (m *MemberQueue) copyRequest(ctx context.Context, t *task, c *intended) (apply.Request, error) {
	app := t.App
	request := apply.Request{Owned: adoptable(app), Check: func(live component.Resource) error {
		// It may be another one than was assessed.
		err := m.assessCopy(ctx, t, live, c.intent)
		if from := v1.OriginOf(live.GetAnnotations()); err != nil || from.App == "" || from.App == app.UID {
			return err
		}
		// The copy changes hands, perhaps to a hub that has taken the member over.
		return m.record().Confirm(ctx)
	}}
	var err error
	if c.live != nil {
		request.Live = c.live
		c.intent, err = asWritten(c.intent, c.live, t.isNextOf(c.live))
	}
	request.Intent = c.intent
	return request, err
}
