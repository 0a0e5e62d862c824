package propagate

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// objects returns a source that wakes the queue when an object that was written beside a copy
// changes in the member. It watches what the reconciler of copies watches, with our label and without
// content. With an agent there is nothing to watch: the hub may not list Secrets there.
func (q *MemberQueue) objects() source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		if q.ManagedBy != v1.ManagedByHub {
			return nil
		}
		for _, kind := range []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}} {
			informer, err := q.cluster.GetCache().GetInformer(ctx, kind)
			if err != nil {
				return fmt.Errorf("watching propagated objects: %w", err)
			}
			if _, err := informer.AddEventHandler(q.onChange(ctx, queue)); err != nil {
				return fmt.Errorf("watching propagated objects: %w", err)
			}
		}
		return nil
	})
}

// onChange returns a handler that enqueues the applications whose object is not as they wrote it,
// until ctx is done: the cache outlives the queue for a moment.
func (q *MemberQueue) onChange(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) toolscache.ResourceEventHandler {
	// The owners of before are woken: it may have lost them.
	see := func(before, after any) {
		object, ok := before.(Object)
		if !ok || ctx.Err() != nil || !isOurs(object) {
			return
		}
		version := state.Deleted
		if next, exists := after.(Object); exists {
			version = next.GetResourceVersion()
		}
		for _, key := range q.see(object, version) {
			queue.Add(reconcile.Request{NamespacedName: key})
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { see(o, o) },
		UpdateFunc: func(before, after any) {
			see(before, after)
			see(after, after)
		},
		DeleteFunc: func(o any) {
			if tombstone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = tombstone.Obj
			}
			see(o, nil)
		},
	}
}

// see records the resource version of an object, and returns the applications that wrote another one.
// Its owners are those of the given object.
func (q *MemberQueue) see(object Object, version string) []types.NamespacedName {
	var concerned []types.NamespacedName
	for _, owner := range owners(object) {
		key := types.NamespacedName{Namespace: object.GetNamespace(), Name: owner.Name}
		if q.Memory.SeeBeside(key, refOf(object), version) {
			concerned = append(concerned, key)
		}
	}
	return concerned
}
