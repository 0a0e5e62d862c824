package copies

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// errUndecided means that it is not known yet whether another member has a newer copy, since members
// that are Ready have yet to be connected, or which overrides select the member. The Dispatcher enqueues
// the application again.
var errUndecided = errors.New("members are not connected or observed yet")

// mayCreate returns an error if the copy of an application must not be created in a member
// that has none. The placement may be that of an older backup: a copy that waits for the user
// elsewhere may have replaced the one that is missing here.
func (l *MemberQueue) mayCreate(ctx context.Context, t *task) error {
	if t.hadCopy() || t.order != nil && t.waiting != "" {
		// There was a copy, or the creation waits already.
		if err := l.compareOthers(ctx, t); err != nil {
			return err
		}
	}
	if other := t.unknownElsewhere(l.name); other != "" {
		return refuse(v1.ReasonNewerElsewhere, "the copy is not created while "+other+" has a newer copy or a recorded deletion", "")
	}
	return nil
}

// compareOthers returns an error if another member has a later generation of an application,
// or may have one. It reads caches only.
func (l *MemberQueue) compareOthers(ctx context.Context, t *task) error {
	app := t.App
	l.state.Await(keyOf(app), l.name, true) // Before the caches are read, so that no change is missed.
	members := &v1.MemberClusterList{}
	if err := l.hub.List(ctx, members, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing members: %w", err)
	}
	complete, connecting := true, false
	for i := range members.Items {
		name := members.Items[i].Name
		ready := meta.FindStatusCondition(members.Items[i].Status.Conditions, v1.ConditionReady)
		queue := l.peer(name)
		switch {
		case name == l.name, ready != nil && ready.Reason == v1.ReasonSecretNotFound:
			continue
		case queue == nil:
			complete = false
			connecting = connecting || ready != nil && ready.Status == metav1.ConditionTrue
			continue
		}
		live := &v1.EcommerceApp{}
		err := queue.cluster.GetClient().Get(ctx, keyOf(app), live, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading the copy in member %q: %w", name, err)
		}
		if err == nil && queue.hasLater(ctx, queue.taskOf(t.Decision), live) {
			return refuse(v1.ReasonNewerElsewhere, "the copy is not created while "+name+" has a later generation", v1.OriginOf(live.Annotations).String())
		}
	}
	switch {
	case connecting:
		return errUndecided
	case t.waiting != "" && !complete && !accepts(app, t.waiting):
		return refuse(v1.ReasonNewerElsewhere, "the copy is not created while a cluster that had a later generation is unreachable", t.waiting)
	}
	l.state.Await(keyOf(app), l.name, false)
	return nil
}

// hasLater reports whether a copy in the member is of a later generation of an application,
// which the user has not accepted. Copies of other applications do not count: those without an
// entry are orphans.
func (l *MemberQueue) hasLater(ctx context.Context, t *task, live *v1.EcommerceApp) bool {
	from, app := v1.OriginOf(live.Annotations), t.App
	waits := t.order != nil && t.Unknown[l.name] == from.String()
	if from.App != app.UID || from.Generation <= app.Generation && !waits || accepts(app, from.String()) {
		return false
	}
	return t.order == nil || l.unknownOrigin(ctx, t, live) != ""
}

// unknownOrigin returns the origin of a copy that the hub does not know, or an empty string.
func (l *MemberQueue) unknownOrigin(ctx context.Context, t *task, live *v1.EcommerceApp) string {
	from, app := v1.OriginOf(live.Annotations), t.App
	if from.App == "" || from.App == app.UID && from.Generation <= app.Generation && from.String() != t.waiting {
		return "" // Without a comparison of specs, which costs more.
	}
	c := comparison{app: app, live: live, waiting: t.waiting, deleted: func(former types.UID) bool { return l.wasDeleted(ctx, former) }}
	if facts, err := l.facts(ctx, t); err == nil && facts != nil {
		if intent, err := copyFor(app, *facts, live); err == nil {
			c.intent = intent
		}
	}
	return waitingAfter(knownCopy(c), "")
}

// confirmUnknown returns the error of an attempt, unless it is about what the hub's API server
// may know: the cache is behind. The error is then a conflict. What is found is read once.
func (l *MemberQueue) confirmUnknown(ctx context.Context, t *task, err error) error {
	origin, app := waitingAfter(err, t.waiting), t.App
	if origin == "" || origin == t.waiting || l.options.APIReader == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.options.CallTimeout)
	defer cancel()
	latest := &v1.EcommerceApp{}
	cause := l.options.APIReader.Get(ctx, keyOf(app), latest)
	if cause == nil && latest.UID == app.UID && latest.Generation == app.Generation {
		return err
	}
	return apierrors.NewConflict(v1.GroupVersion.WithResource("ecommerceapps").GroupResource(), app.Name, errors.Join(errBehind, cause))
}

var errBehind = errors.New("the cache of the hub is behind")
