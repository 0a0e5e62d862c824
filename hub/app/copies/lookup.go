package copies

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// Find returns the result of the last lookup of an application's copy. Where there is
// none it starts one, whose end wakes the reconciler.
func (m *MemberQueue) Find(app *v1.EcommerceApp) recovery.Presence {
	found := m.memory.Ask(keyOf(app), app.UID)
	if found == recovery.NotLooked {
		m.queue.Add(controller.RequestFor(app))
	}
	return found
}

// HasCopy reports whether the member's cache has a copy of an application.
func (m *MemberQueue) HasCopy(ctx context.Context, app *v1.EcommerceApp) bool {
	live := &v1.EcommerceApp{}
	err := m.cluster.GetClient().Get(ctx, keyOf(app), live, client.UnsafeDisableDeepCopy)
	return err == nil && owned(app)(live)
}

// lookUp asks the member's API server for the copy of an application that lost its
// inventory. The cache is not enough: a copy that it missed would be left behind.
func (m *MemberQueue) lookUp(ctx context.Context, key types.NamespacedName, app types.UID) error {
	live, err := m.ask(ctx, key)
	select {
	case <-ctx.Done():
		return nil // The member is being disconnected, and this lookup with it.
	default:
	}
	found := recovery.Present
	switch {
	case err != nil:
		found = recovery.Uncertain
	case live == nil || !isOwnedBy(app)(live):
		found = recovery.Absent
	case live.DeletionTimestamp != nil:
		found = recovery.Terminating
	}
	if m.memory.Answer(key, app, found) {
		m.wake.Add(reconcile.Request{NamespacedName: key})
	}
	return err
}
