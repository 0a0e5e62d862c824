package copies

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// assess returns an error if the hub must not write the copy of an application: it reads what package recovery decides
// by. While nothing is written but a pause, only what the member has recorded counts.
func (m *MemberQueue) assess(ctx context.Context, t *task, c *intended, paused bool) error {
	f := m.recorded(t)
	if c.live != nil {
		f.Live = c.live
	}
	switch {
	case paused:
		return refused(recovery.AssessRecord(f))
	case f.IsUnknown():
		var err error
		if f.Intent, err = copyFor(t.App, *c.facts, c.live); err != nil {
			return refused(recovery.AssessRecord(f)) // The intent says so.
		}
		f.FormerDeleted = m.wasDeleted(ctx, v1.OriginOf(c.live.Annotations).App)
	case f.LostSince():
		m.state.Await(keyOf(t.App), m.name, true) // Before the caches are read, so that no change is missed.
		var err error
		if f.Others, err = m.others(ctx, t); err != nil {
			return err
		}
	}
	f.Elsewhere = t.unknownElsewhere(m.name)
	err := recovery.Assess(f)
	if err == nil && f.LostSince() {
		m.state.Await(keyOf(t.App), m.name, false)
	}
	return refused(err)
}

// assessCopy returns an error if the live copy, which was read since, must neither be replaced by the intent nor, without
// one, be deleted.
func (m *MemberQueue) assessCopy(ctx context.Context, t *task, live metav1.Object, intent *v1.EcommerceApp) error {
	f := m.recorded(t)
	f.Live, f.Intent = live, intent
	if f.IsUnknown() {
		f.FormerDeleted = m.wasDeleted(ctx, v1.OriginOf(live.GetAnnotations()).App)
	}
	return refused(recovery.AssessCopy(f))
}

// recorded returns what the member has recorded about an application.
func (m *MemberQueue) recorded(t *task) recovery.Facts {
	record := m.record()
	return recovery.Facts{App: t.App, HadCopy: t.hadCopy(), Waiting: t.waiting, DeletedAt: record.DeletedAt(t.App.UID), Left: record.Left(t.App.UID)}
}

// others returns what the other members have of an application. It reads caches only.
func (m *MemberQueue) others(ctx context.Context, t *task) ([]recovery.Other, error) {
	members := &v1.MemberClusterList{}
	if err := m.hub.List(ctx, members, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing members: %w", err)
	}
	var others []recovery.Other
	for i := range members.Items {
		name := members.Items[i].Name
		ready := meta.FindStatusCondition(members.Items[i].Status.Conditions, v1.ConditionReady)
		queue := m.peer(name)
		switch {
		case name == m.name, ready != nil && ready.Reason == v1.ReasonSecretNotFound:
			continue
		case queue == nil:
			others = append(others, recovery.Other{Name: name, Away: true, Connecting: ready != nil && ready.Status == metav1.ConditionTrue})
			continue
		}
		live := &v1.EcommerceApp{}
		err := queue.cluster.GetClient().Get(ctx, keyOf(t.App), live, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading the copy in member %q: %w", name, err)
		}
		if err == nil {
			peer := queue.taskOf(t.Decision)
			others = append(others, recovery.Other{Name: name, Later: recovery.Later(queue.observedFacts(ctx, peer, live), peer.order != nil, t.Unknown[name])})
		}
	}
	return others, nil
}

// observedFacts returns the facts about a copy that nothing is about to be done with: if it is unknown, with the intent for
// it, unless that cannot be made.
func (m *MemberQueue) observedFacts(ctx context.Context, t *task, live *v1.EcommerceApp) recovery.Facts {
	f := m.recorded(t)
	f.Live = live
	if !f.IsUnknown() {
		return f // Without a comparison of specs, which costs more.
	}
	f.FormerDeleted = m.wasDeleted(ctx, v1.OriginOf(live.Annotations).App)
	if facts, err := m.facts(ctx, t); err == nil && facts != nil {
		if intent, err := copyFor(t.App, *facts, live); err == nil {
			f.Intent = intent
		}
	}
	return f
}

// Compared reports whether a member has nothing of an application that the hub does not know, as
// a hub that was restored from an older backup does not. It is false while the member is not
// connected, and reads caches only. Copied is the server of the copy's database, zero if there is none.
func (d *Dispatcher) Compared(ctx context.Context, app *v1.EcommerceApp, member string) (compared bool, copied v1.CopiedServer, err error) {
	m := d.Get(member)
	if m == nil {
		return false, v1.CopiedServer{}, nil
	}
	t := m.stored(app)
	live := &v1.EcommerceApp{}
	err = m.cluster.GetClient().Get(ctx, keyOf(app), live, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return recovery.AssessRecord(m.recorded(t)) == nil, v1.CopiedServer{}, nil
	}
	if err != nil {
		return false, v1.CopiedServer{}, fmt.Errorf("reading the copy in member %q: %w", member, err)
	}
	return recovery.Assess(m.observedFacts(ctx, t, live)) == nil, v1.CopiedServerOf(live), nil
}

// confirmUnknown returns the error of an attempt, unless it is about what the hub's API server
// may know: the cache is behind. The error is then a conflict. What is found is read once.
func (m *MemberQueue) confirmUnknown(ctx context.Context, t *task, err error) error {
	origin, app := recovery.OriginAfter(err, t.waiting), t.App
	if origin == "" || origin == t.waiting || m.options.APIReader == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, m.options.CallTimeout)
	defer cancel()
	latest := &v1.EcommerceApp{}
	cause := m.options.APIReader.Get(ctx, keyOf(app), latest)
	if cause == nil && latest.UID == app.UID && latest.Generation == app.Generation {
		return err
	}
	return apierrors.NewConflict(v1.GroupVersion.WithResource("ecommerceapps").GroupResource(), app.Name, errors.Join(errBehind, cause))
}

var errBehind = errors.New("the cache of the hub is behind")

// refused returns the error of an assessment as one that waits for the user.
func refused(err error) error {
	if unknown, is := errors.AsType[*recovery.UnknownError](err); is {
		return &apierror.SpecError{Reason: unknown.Reason, Err: unknown}
	}
	return err
}
