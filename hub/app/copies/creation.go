package copies

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// errUndecided means that it is not known yet whether another member has a newer copy, since members
// that are Ready have yet to be connected, or which overrides select the member. The Dispatcher enqueues
// the application again.
var errUndecided = errors.New("members are not connected or observed yet")

// mayCreate returns an error if the copy of an application must not be created in a member
// that has none. The placement may be that of an older backup: a copy that waits for the user
// elsewhere may have replaced the one that is missing here.
func (l *MemberQueue) mayCreate(ctx context.Context, app *v1.EcommerceApp, waiting string) error {
	entry := EntryOf(app, l.name)
	if entry != nil && (entry.AppliedGeneration > 0 || waiting != "") {
		// There was a copy, or the creation waits already.
		if err := l.compareOthers(ctx, app, waiting); err != nil {
			return err
		}
	}
	for i := range app.Status.Clusters {
		other := &app.Status.Clusters[i]
		if other.Name != l.name && other.UnknownOrigin != "" && !accepts(app, other.UnknownOrigin) {
			return refuse(v1.ReasonNewerElsewhere, "the copy is not created while "+other.Name+" has a newer copy or a recorded deletion", "")
		}
	}
	return nil
}

// compareOthers returns an error if another member has a later generation of an application,
// or may have one. It reads caches only.
func (l *MemberQueue) compareOthers(ctx context.Context, app *v1.EcommerceApp, waiting string) error {
	l.undecided.add(keyOf(app), l.name) // Before the caches are read, so that no change is missed.
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
		if err == nil && queue.hasLater(ctx, app, live) {
			return refuse(v1.ReasonNewerElsewhere, "the copy is not created while "+name+" has a later generation", v1.OriginOf(live.Annotations).String())
		}
	}
	switch {
	case connecting:
		return errUndecided
	case waiting != "" && !complete && !accepts(app, waiting):
		return refuse(v1.ReasonNewerElsewhere, "the copy is not created while a cluster that had a later generation is unreachable", waiting)
	}
	l.undecided.remove(keyOf(app), l.name)
	return nil
}

// hasLater reports whether a copy in the member is of a later generation of an application,
// which the user has not accepted. Copies of other applications do not count: those without an
// entry are orphans.
func (l *MemberQueue) hasLater(ctx context.Context, app, live *v1.EcommerceApp) bool {
	from := v1.OriginOf(live.Annotations)
	entry := EntryOf(app, l.name)
	waits := entry != nil && entry.UnknownOrigin == from.String()
	if from.App != app.UID || from.Generation <= app.Generation && !waits || accepts(app, from.String()) {
		return false
	}
	return entry == nil || l.unknownOrigin(ctx, app, live) != ""
}

// unknownOrigin returns the origin of a copy that the hub does not know, or an empty string.
func (l *MemberQueue) unknownOrigin(ctx context.Context, app, live *v1.EcommerceApp) string {
	from := v1.OriginOf(live.Annotations)
	waiting := l.waiting(app)
	if from.App == "" || from.App == app.UID && from.Generation <= app.Generation && from.String() != waiting {
		return "" // Without a comparison of specs, which costs more.
	}
	c := comparison{app: app, live: live, waiting: waiting, deleted: func(former types.UID) bool { return l.wasDeleted(ctx, former) }}
	if facts, err := l.facts(ctx, app); err == nil && facts != nil {
		if intent, err := copyFor(app, *facts, live); err == nil {
			c.intent = intent
		}
	}
	return waitingAfter(knownCopy(c), "")
}

// confirmUnknown returns the error of an attempt, unless it is about what the hub's API server
// may know: the cache is behind. The error is then a conflict. What is found is read once.
func (l *MemberQueue) confirmUnknown(ctx context.Context, app *v1.EcommerceApp, waiting string, err error) error {
	origin := waitingAfter(err, waiting)
	if origin == "" || origin == waiting || l.options.APIReader == nil {
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

// waiting returns the origin in the member that waits for the user: what the last attempt
// found or, after a start of the hub, what the status says.
func (l *MemberQueue) waiting(app *v1.EcommerceApp) string {
	if last, known := l.reports.about(keyOf(app), app.UID); known {
		return last.unknown
	}
	if entry := EntryOf(app, l.name); entry != nil {
		return entry.UnknownOrigin
	}
	return ""
}

// undecided holds the members of each application whose copy is not created because of what
// other members have. Any news about the application may decide it. It is safe for concurrent
// use.
type undecided struct {
	mu    sync.Mutex
	known map[types.NamespacedName]map[string]bool
}

func newUndecided() *undecided {
	return &undecided{known: map[types.NamespacedName]map[string]bool{}}
}

func (u *undecided) add(app types.NamespacedName, member string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.known[app] == nil {
		u.known[app] = map[string]bool{}
	}
	u.known[app][member] = true
}

func (u *undecided) remove(app types.NamespacedName, member string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if delete(u.known[app], member); len(u.known[app]) == 0 {
		delete(u.known, app)
	}
}

// requests returns requests for the applications that there are members of.
func (u *undecided) requests() []reconcile.Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	requests := make([]reconcile.Request, 0, len(u.known))
	for app := range u.known {
		requests = append(requests, reconcile.Request{NamespacedName: app})
	}
	return requests
}

// take returns the members of an application and forgets them.
func (u *undecided) take(app types.NamespacedName) map[string]bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	members := u.known[app]
	delete(u.known, app)
	return members
}
