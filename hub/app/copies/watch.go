package copies

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// copies returns a source that wakes the queue and the reconciler of applications for each
// change of a copy in the member.
func (m *MemberQueue) copies() source.Source {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		informer, err := m.cluster.GetCache().GetInformer(ctx, &v1.EcommerceApp{})
		if err != nil {
			return fmt.Errorf("watching copies: %w", err)
		}
		changed := m.wakes(q.Add, func(r reconcile.Request) { m.wake.Add(r) })
		first := m.wakes(func(r reconcile.Request) { controller.AddLowPriority(q, r) }, func(r reconcile.Request) { m.wake.AddLowPriority(r) })
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(o any, isFirst bool) {
				if isFirst {
					first(ctx, nil, o)
				} else {
					changed(ctx, nil, o)
				}
			},
			UpdateFunc: func(before, o any) { changed(ctx, before, o) },
			DeleteFunc: func(o any) {
				if tombstone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
					o = tombstone.Obj
				}
				if copied, ok := o.(*v1.EcommerceApp); ok {
					m.memory.DropStatus(keyOf(copied), copied.UID)
				}
				changed(ctx, nil, o)
			},
		}); err != nil {
			return fmt.Errorf("watching copies: %w", err)
		}
		return nil
	})
}

// wakes returns a function that adds a change of a copy to the member's queue and to that of the
// reconciler of applications, as far as it concerns them.
func (m *MemberQueue) wakes(queue, reconciler func(reconcile.Request)) func(ctx context.Context, before, o any) {
	return func(ctx context.Context, before, o any) {
		copied, ok := o.(*v1.EcommerceApp)
		if !ok || ctx.Err() != nil { // The cache outlives the queue for a moment.
			return
		}
		former, _ := before.(*v1.EcommerceApp)
		toQueue, toReconciler := concerns(former, copied, m.memory.SeeStatus(copied))
		if toQueue {
			queue(controller.RequestFor(copied))
		}
		if toReconciler {
			reconciler(controller.RequestFor(copied))
		}
	}
}

// concerns reports whether a change of a copy concerns the member's queue, which compares spec and metadata, and the
// servers of the database, and the reconciler of applications, which reads the rest of the status too. The reconciler has
// been woken already for a status that was reported. The copy is new if there is none before.
func concerns(before, after *v1.EcommerceApp, reported bool) (queue, reconciler bool) {
	if before == nil || before.UID != after.UID || before.Generation != after.Generation ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		!maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) ||
		!slices.Equal(before.Finalizers, after.Finalizers) ||
		serversOf(before) != serversOf(after) ||
		!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences) {
		return true, true
	}
	return false, !reported
}

// servers are the servers of the database of a copy that decide which one it may get.
type servers struct {
	copied  v1.CopiedServer
	started v1.DatabaseServer
}

// serversOf returns the servers of the database of a copy. A copy whose own server has started for the first time has the
// same ones as before.
func serversOf(copied *v1.EcommerceApp) servers {
	s := servers{copied: v1.CopiedServerOf(copied)}
	s.started = s.copied.DatabaseServer
	if started := v1.ValidServer(copied.Status.StartedServer); started != nil {
		s.started = *started
	}
	return s
}
