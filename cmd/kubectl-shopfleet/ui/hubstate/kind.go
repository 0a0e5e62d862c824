package hubstate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var errNoList = errors.New("the kind of the list is no list")

// kind observes the objects of one kind.
type kind struct {
	name     string
	informer cache.SharedIndexInformer
	clock    clock.Clock
	// changed is set if the objects have changed since they were last taken, and touched is called then.
	changed atomic.Bool
	touched func()
	// first is closed when the first list was answered, with whatever result.
	first chan struct{}

	mu     sync.Mutex
	source Source
	// err is why nothing is known; nil while objects are.
	err error
}

// source lists and watches the objects of a kind.
type source struct {
	get       func(ctx context.Context, list client.ObjectList, options ...client.ListOption) error
	watch     func(ctx context.Context, list client.ObjectList, options ...client.ListOption) (watch.Interface, error)
	kind      client.ObjectList
	namespace string
}

// listWatch makes the informer begin with a list, which has a deadline, and not with a watch.
type listWatch struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is asked by the informer.
func (listWatch) IsWatchListSemanticsUnSupported() bool { return true }

// observe prepares the informer.
func (k *kind) observe(from source, object client.Object) error {
	lw := listWatch{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, ok := from.kind.DeepCopyObject().(client.ObjectList)
			if !ok {
				return nil, fmt.Errorf("copying %T: %w", from.kind, errNoList)
			}
			err := from.get(ctx, list, client.InNamespace(from.namespace), &client.ListOptions{Raw: &options})
			k.listed(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			watcher, err := from.watch(ctx, from.kind, client.InNamespace(from.namespace), &client.ListOptions{Raw: &options})
			k.watched(ctx, err)
			return watcher, err
		},
	}}
	k.informer = cache.NewSharedIndexInformer(lw, object, 0, nil)
	quiet := func(context.Context, *cache.Reflector, error) {} // The error is in the Source.
	change := func() {
		k.changed.Store(true)
		k.touched()
	}
	_, err := k.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { change() }, UpdateFunc: func(any, any) { change() }, DeleteFunc: func(any) { change() },
	})
	return errors.Join(err, k.informer.SetTransform(slim), k.informer.SetWatchErrorHandlerWithContext(quiet))
}

// slim removes what no screen shows from an object that nothing else has yet.
func slim(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

// listed notes the result of a list, unless the program ends. Objects that may not be listed any more are not known.
func (k *kind) listed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	next := k.source
	switch {
	case err == nil && next.Unwatched:
		next.Since = k.clock.Now() // They are as they are now, and that they are not watched stays true.
	case err == nil:
		next = Source{Kind: next.Kind, Read: true}
	default:
		next = k.failed(err)
		next.Forbidden = apierrors.IsForbidden(err)
		next.Read = next.Read && !next.Forbidden
	}
	if next.Read != k.source.Read {
		k.changed.Store(true)
	}
	k.err = nil
	if !next.Read {
		k.err = err
	}
	k.note(next)
	select {
	case <-k.first:
	default:
		close(k.first)
	}
}

// watched notes whether a watch has begun, unless the program ends.
func (k *kind) watched(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	next := Source{Kind: k.source.Kind, Read: true}
	if err != nil {
		next = k.failed(err)
		next.Unwatched = apierrors.IsForbidden(err)
	}
	k.note(next)
}

// failed returns the Source after a request that failed.
func (k *kind) failed(err error) Source {
	next := Source{Kind: k.source.Kind, Read: k.source.Read, Problem: err.Error(), Since: k.source.Since}
	if k.source.Problem == "" {
		next.Since = k.clock.Now()
	}
	return next
}

func (k *kind) note(next Source) {
	if k.source != next {
		k.source = next
		k.touched()
	}
}

// fill blocks until the first list was answered and, if there is one, its objects are in the store.
func (k *kind) fill(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-k.first:
	}
	if ctx.Err() == nil && k.problem() == nil {
		cache.WaitForCacheSync(ctx.Done(), k.informer.HasSynced)
		k.changed.Store(true)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("reading %s: %w", k.name, context.Cause(ctx))
	}
	return nil
}

func (k *kind) current() Source {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.source
}

func (k *kind) problem() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}
