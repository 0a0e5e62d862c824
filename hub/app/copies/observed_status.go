package copies

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// ObserveStatus takes the status of a copy that its reconciler, in this process, is about to write or, in a
// member that is paused, would have written. The status on the hub then need not wait for the write,
// and for the watch that tells of it. It does not block.
func (d *Dispatcher) ObserveStatus(ctx context.Context, cluster string, object client.Object) {
	app, ok := object.(*v1.EcommerceApp)
	if m := d.Get(cluster); ok && m != nil {
		m.keepStatus(ctx, app)
		m.wake.Add(controller.RequestFor(app))
	}
}

// keepStatus keeps the status of a copy while the cache has the copy. A reconciler may hand over the
// status of a copy that has changed, or gone, since it was read.
func (m *MemberQueue) keepStatus(ctx context.Context, copied *v1.EcommerceApp) {
	m.memory.SetStatus(copied)
	live := &v1.EcommerceApp{}
	err := m.cluster.GetClient().Get(ctx, keyOf(copied), live, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err) || err == nil && live.UID != copied.UID:
		m.memory.DropStatus(keyOf(copied), copied.UID)
	case err == nil:
		m.memory.SeeStatus(live)
	}
}
