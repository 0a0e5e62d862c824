package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
)

// NewInformer returns an informer that calls its handlers itself, one after the other, and whose
// watches leave no goroutine behind. That of client-go gives each handler two goroutines and a buffer
// of 16 KiB, and a hub has handlers for each kind in each member. There are no resyncs, because
// reconcilers have their own, and no mutation detector.
//
// A handler must not block, nor read a cache that may not be in sync, nor add handlers to the informer
// that calls it or remove some: events wait until it returns. Those of controllers add to a queue.
func NewInformer(
	lw toolscache.ListerWatcher, object runtime.Object, _ time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	kind := describeKind(object)
	i := &informer{
		kind:              kind,
		indexer:           toolscache.NewIndexer(toolscache.DeletionHandlingMetaNamespaceKeyFunc, indexers),
		transform:         func(object any) (any, error) { return object, nil },
		watchErrorHandler: toolscache.DefaultWatchErrorHandler,
	}
	i.Controller = toolscache.New(&toolscache.Config{
		Queue: toolscache.NewRealFIFOWithOptions(toolscache.RealFIFOOptions{
			Name: kind, AtomicEvents: true, UnlockWhileProcessing: true,
			Transformer: func(object any) (any, error) { return i.transform(object) },
		}),
		ListerWatcher:     drainingListerWatcher{lw},
		ObjectType:        object,
		ObjectDescription: kind,
		Process:           i.process,
		WatchErrorHandlerWithContext: func(ctx context.Context, r *toolscache.Reflector, err error) {
			i.watchErrorHandler(ctx, r, err)
		},
	})
	return i
}

// describeKind names the kind of an object for logs. The Go type of metadata names none.
func describeKind(object runtime.Object) string {
	if gvk := object.GetObjectKind().GroupVersionKind(); !gvk.Empty() {
		return gvk.String()
	}
	return fmt.Sprintf("%T", object)
}

// informer is a cache.SharedIndexInformer. Its Controller calls process for what it lists and watches.
type informer struct {
	toolscache.Controller
	kind             string
	indexer          toolscache.Indexer
	started, stopped atomic.Bool

	// mu is held while handlers are called.
	mu       sync.Mutex
	handlers []*handlerRegistration
	// transform and watchErrorHandler do not change once the informer has started.
	transform         toolscache.TransformFunc
	watchErrorHandler toolscache.WatchErrorHandlerWithContext
}

// handlerRegistration is a handler of an informer. It is in sync when the informer is, because it was
// called for each cached object before it was returned.
type handlerRegistration struct {
	*informer
	handler toolscache.ResourceEventHandler
}

// Run implements cache.SharedIndexInformer.
func (i *informer) Run(stop <-chan struct{}) { i.RunWithContext(wait.ContextForChannel(stop)) }

// RunWithContext implements cache.SharedIndexInformer. It runs once, with a context of the standard
// library. controller-runtime's has a channel of its own, which costs a goroutine for each context that
// is derived from it.
func (i *informer) RunWithContext(ctx context.Context) {
	if !i.started.CompareAndSwap(false, true) {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer i.stopped.Store(true)
	i.Controller.RunWithContext(ctx)
}

// process stores what a list or a watch returned, and calls the handlers.
func (i *informer) process(item any, isInInitialList bool) error {
	deltas, ok := item.(toolscache.Deltas)
	if !ok {
		return fmt.Errorf("processing events of %s: %T are not deltas", i.kind, item)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, delta := range deltas {
		if err := i.applyDelta(delta, isInInitialList); err != nil {
			return fmt.Errorf("processing events of %s: %w", i.kind, err)
		}
	}
	return nil
}

func (i *informer) applyDelta(delta toolscache.Delta, isInInitialList bool) error {
	switch delta.Type {
	case toolscache.ReplacedAll:
		return i.replaceAll(delta.Object, isInInitialList)
	case toolscache.Deleted:
		if err := i.indexer.Delete(delta.Object); err != nil {
			return err
		}
		i.notifyHandlers(func(h toolscache.ResourceEventHandler) { h.OnDelete(delta.Object) })
		return nil
	case toolscache.Added, toolscache.Updated:
		before, _, err := i.indexer.Get(delta.Object)
		if err != nil {
			return err
		}
		if err := i.indexer.Update(delta.Object); err != nil {
			return err
		}
		i.notifyChange(before, delta.Object, isInInitialList)
		return nil
	default:
		return fmt.Errorf("unexpected delta %s", delta.Type)
	}
}

// replaceAll stores the objects of a list in place of those that the cache has.
func (i *informer) replaceAll(list any, isInInitialList bool) error {
	all, ok := list.(toolscache.ReplacedAllInfo)
	if !ok {
		return fmt.Errorf("unexpected list %T", list)
	}
	former := make(map[string]any)
	for _, key := range i.indexer.ListKeys() {
		former[key], _, _ = i.indexer.GetByKey(key) // It returns no errors.
	}
	if err := i.indexer.Replace(all.Objects, all.ResourceVersion); err != nil {
		return err
	}
	type change struct{ before, after any }
	changes := make([]change, 0, len(all.Objects))
	for _, object := range all.Objects {
		key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object)
		if err != nil {
			return err
		}
		changes = append(changes, change{former[key], object})
		delete(former, key)
	}
	for key, object := range former {
		i.notifyHandlers(func(h toolscache.ResourceEventHandler) {
			h.OnDelete(toolscache.DeletedFinalStateUnknown{Key: key, Obj: object})
		})
	}
	for _, c := range changes {
		i.notifyChange(c.before, c.after, isInInitialList)
	}
	return nil
}

// notifyChange calls the handlers for an object that is stored in place of another one, which is nil for a
// new object. An object that was listed again without a change causes no call.
func (i *informer) notifyChange(before, after any, isInInitialList bool) {
	switch {
	case before == nil:
		i.notifyHandlers(func(h toolscache.ResourceEventHandler) { h.OnAdd(after, isInInitialList) })
	case !sameVersion(before, after):
		i.notifyHandlers(func(h toolscache.ResourceEventHandler) { h.OnUpdate(before, after) })
	}
}

// notifyHandlers calls all handlers. The caller holds mu.
func (i *informer) notifyHandlers(call func(toolscache.ResourceEventHandler)) {
	for _, registration := range i.handlers {
		call(registration.handler)
	}
}

// sameVersion reports whether two objects have the same resource version.
func sameVersion(a, b any) bool {
	before, err := meta.Accessor(a)
	if err != nil {
		return false
	}
	after, err := meta.Accessor(b)
	return err == nil && before.GetResourceVersion() == after.GetResourceVersion()
}

// AddEventHandler implements cache.SharedIndexInformer.
func (i *informer) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.SharedIndexInformer. There are no resyncs.
func (i *informer) AddEventHandlerWithResyncPeriod(
	handler toolscache.ResourceEventHandler, _ time.Duration,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(handler)
}

// AddEventHandlerWithOptions implements cache.SharedIndexInformer. The handler is called for each object
// in the cache before it returns.
func (i *informer) AddEventHandlerWithOptions(
	handler toolscache.ResourceEventHandler, _ toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stopped.Load() {
		return nil, fmt.Errorf("adding a handler to the informer of %s: it has stopped", i.kind)
	}
	added := &handlerRegistration{informer: i, handler: handler}
	i.handlers = append(i.handlers, added)
	for _, object := range i.indexer.List() {
		handler.OnAdd(object, true)
	}
	return added, nil
}

// RemoveEventHandler implements cache.SharedIndexInformer.
func (i *informer) RemoveEventHandler(added toolscache.ResourceEventHandlerRegistration) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handlers = slices.DeleteFunc(i.handlers, func(r *handlerRegistration) bool { return r == added })
	return nil
}

// HasSynced implements cache.SharedIndexInformer. Unlike the Controller's, it takes no lock, so that
// handlers may read the cache.
func (i *informer) HasSynced() bool { return toolscache.IsDone(i.HasSyncedChecker()) }

// SetTransform implements cache.SharedIndexInformer.
func (i *informer) SetTransform(transform toolscache.TransformFunc) error {
	if i.started.Load() {
		return fmt.Errorf("setting the transform of the informer of %s: it has started", i.kind)
	}
	if transform != nil {
		i.transform = transform
	}
	return nil
}

// SetWatchErrorHandler implements cache.SharedIndexInformer.
func (i *informer) SetWatchErrorHandler(handler toolscache.WatchErrorHandler) error {
	return i.SetWatchErrorHandlerWithContext(func(_ context.Context, r *toolscache.Reflector, err error) { handler(r, err) })
}

// SetWatchErrorHandlerWithContext implements cache.SharedIndexInformer.
func (i *informer) SetWatchErrorHandlerWithContext(handler toolscache.WatchErrorHandlerWithContext) error {
	if i.started.Load() {
		return fmt.Errorf("setting the watch error handler of the informer of %s: it has started", i.kind)
	}
	if handler != nil {
		i.watchErrorHandler = handler
	}
	return nil
}

// AddIndexers implements cache.SharedIndexInformer.
func (i *informer) AddIndexers(indexers toolscache.Indexers) error {
	return i.indexer.AddIndexers(indexers)
}

// GetIndexer implements cache.SharedIndexInformer.
func (i *informer) GetIndexer() toolscache.Indexer { return i.indexer }

// GetStore implements cache.SharedIndexInformer.
func (i *informer) GetStore() toolscache.Store { return i.indexer }

// GetController implements cache.SharedIndexInformer.
func (i *informer) GetController() toolscache.Controller { return i }

// IsStopped implements cache.SharedIndexInformer.
func (i *informer) IsStopped() bool { return i.stopped.Load() }
