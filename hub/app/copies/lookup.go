package copies

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Presence is the result of looking for an application's copy in a member.
type Presence int

const (
	// NotLooked means that no lookup has ended yet.
	NotLooked Presence = iota
	// Uncertain means that the API server did not answer, or refused to.
	Uncertain
	// Absent means that the API server has no copy.
	Absent
	// Present means that there is a copy.
	Present
	// Terminating means that there is a copy that is being deleted.
	Terminating
)

// Find returns the result of the last lookup of an application's copy. Where there is
// none it starts one, whose end wakes the reconciler.
func (l *MemberQueue) Find(app *v1.EcommerceApp) Presence {
	found := l.lookups.ask(keyOf(app), app.UID)
	if found == NotLooked {
		l.queue.Add(requestFor(app))
	}
	return found
}

// Holds reports whether the member's cache has a copy of an application.
func (l *MemberQueue) Holds(ctx context.Context, app *v1.EcommerceApp) bool {
	live := &v1.EcommerceApp{}
	err := l.cluster.GetClient().Get(ctx, keyOf(app), live, client.UnsafeDisableDeepCopy)
	return err == nil && owned(app)(live)
}

// find looks for the copy of an application that lost its inventory if the reconciler has asked for it, and
// drops what an earlier lookup found for any other. A new application has no inventory either, and there
// is nothing to look for.
func (l *MemberQueue) find(ctx context.Context, key types.NamespacedName, app *v1.EcommerceApp) error {
	if app.UID == "" || !app.InventoryLost() {
		l.lookups.drop(key)
		return nil
	}
	if !l.lookups.asked(key, app.UID) {
		return nil
	}
	return l.lookUp(ctx, app)
}

// lookUp asks the member's API server for the copy of an application that lost its
// inventory. The cache is not enough: a copy that it missed would be left behind.
func (l *MemberQueue) lookUp(ctx context.Context, app *v1.EcommerceApp) error {
	call, cancel := context.WithTimeout(ctx, l.options.CallTimeout)
	defer cancel()
	live := &v1.EcommerceApp{}
	err := l.cluster.GetAPIReader().Get(call, keyOf(app), live)
	if ctx.Err() != nil {
		return nil // The member is being disconnected, and this lookup with it.
	}
	found := Present
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		found, err = Absent, nil
	case err != nil:
		found, err = Uncertain, fmt.Errorf("looking for the copy: %w", err)
	case !owned(app)(live):
		found = Absent
	case live.DeletionTimestamp != nil:
		found = Terminating
	}
	if l.lookups.end(keyOf(app), app.UID, found) {
		l.wake.Add(requestFor(app))
	}
	return err
}

// Recovered ends the recovery of an application's inventory: the next loss begins with new lookups, and the
// next decision concerns all members, whose queues have dropped what they knew of a copy without entry.
func (d *Dispatcher) Recovered(app types.NamespacedName) {
	d.decisions.forget(app)
	for _, m := range d.All() {
		m.lookups.forget(app)
	}
}

// lookups are the results of one member. They are safe for concurrent use.
type lookups struct {
	mu    sync.Mutex
	known map[types.NamespacedName]lookup
}

type lookup struct {
	app   types.UID
	found Presence
}

func newLookups() *lookups { return &lookups{known: map[types.NamespacedName]lookup{}} }

// end records a result and reports whether it differs from the one before.
func (l *lookups) end(key types.NamespacedName, app types.UID, found Presence) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := lookup{app: app, found: found}
	news := l.known[key] != next
	l.known[key] = next
	return news
}

// ask returns the last result, and records that there is to be one.
func (l *lookups) ask(key types.NamespacedName, app types.UID) Presence {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[key].app != app {
		l.known[key] = lookup{app: app, found: NotLooked}
	}
	return l.known[key].found
}

// asked reports whether there is, or is to be, a result.
func (l *lookups) asked(key types.NamespacedName, app types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[key].app == app
}

// drop forgets a result. One that is to be stays: the reconciler may have asked since the queue read the
// application.
func (l *lookups) drop(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[key].found != NotLooked {
		delete(l.known, key)
	}
}

func (l *lookups) forget(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, key)
}
