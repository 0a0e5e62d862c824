package watchuntil

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// retryPeriod is the time between attempts after an error.
const retryPeriod = time.Second

// Watcher starts watches. Its requests must have no overall timeout.
type Watcher interface {
	Watch(ctx context.Context, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error)
}

// Lister lists. Each of its requests must have a deadline.
type Lister interface {
	List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error
}

// Query selects the objects to watch.
type Query struct {
	Lister  Lister
	Watcher Watcher
	// List is an empty list of the kind.
	List    client.ObjectList
	Options []client.ListOption
	// Report receives the error for which the objects may be outdated, and nil when
	// they are current again.
	Report func(error)
}

// errEnough ends a watch with success.
var errEnough = errors.New("the watch has seen enough")

// Run calls see with all objects, sorted by namespace and name, at once and after
// every change. It returns when see returns true or an error, when the first list
// fails, or when ctx ends, with the cause of that.
func (q Query) Run(ctx context.Context, see func([]client.Object) (enough bool, err error)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	objects := &objects{Store: cache.NewStore(cache.MetaNamespaceKeyFunc), changed: func(all []client.Object) {
		if ctx.Err() != nil {
			return
		}
		switch enough, err := see(all); {
		case err != nil:
			stop(err)
		case enough:
			stop(errEnough)
		}
	}}
	// The reflector logs what is reported here.
	cache.NewReflectorWithOptions(q.source(stop), nil, objects, cache.ReflectorOptions{
		Backoff: &wait.Backoff{Duration: retryPeriod, Factor: 1, Steps: math.MaxInt},
	}).RunWithContext(klog.NewContext(ctx, logr.Discard()))
	if err := context.Cause(ctx); !errors.Is(err, errEnough) {
		return err
	}
	return nil
}

// source makes the reflector begin with a list, which has a deadline, and not with a watch.
type source struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is asked by the reflector.
func (source) IsWatchListSemanticsUnSupported() bool { return true }

// source returns what the reflector lists and watches. A first list that fails ends all.
func (q Query) source(stop context.CancelCauseFunc) source {
	listed := false
	report := func(ctx context.Context, err error) {
		if ctx.Err() == nil {
			q.Report(err)
		}
	}
	return source{&cache.ListWatch{
		// The reflector's options would accept objects of the watch cache, which may be
		// older than what the caller has just written.
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			list, ok := q.List.DeepCopyObject().(client.ObjectList)
			if !ok {
				return nil, fmt.Errorf("copying %T: not a list", q.List)
			}
			err := q.Lister.List(ctx, list, q.Options...)
			if err != nil && !listed {
				stop(fmt.Errorf("listing: %w", err))
			} else if err != nil {
				report(ctx, fmt.Errorf("listing: %w", err))
			}
			listed = listed || err == nil
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			watcher, err := q.Watcher.Watch(ctx, q.List, append(slices.Clone(q.Options), &client.ListOptions{Raw: &options})...)
			if err != nil {
				err = fmt.Errorf("watching: %w", err)
			}
			report(ctx, err)
			return watcher, err
		},
	}}
}

// objects is a store that reports each of its changes.
type objects struct {
	cache.Store
	changed func([]client.Object)
}

// Add adds an object of a watch event.
func (o *objects) Add(object any) error { return o.changing(o.Store.Add(object)) }

// Update replaces an object by that of a watch event.
func (o *objects) Update(object any) error { return o.changing(o.Store.Update(object)) }

// Delete removes the object of a watch event.
func (o *objects) Delete(object any) error { return o.changing(o.Store.Delete(object)) }

// Replace replaces all objects by those of a list.
func (o *objects) Replace(list []any, version string) error {
	return o.changing(o.Store.Replace(list, version))
}

func (o *objects) changing(err error) error {
	if err != nil {
		return err
	}
	var all []client.Object
	for _, item := range o.List() {
		if object, ok := item.(client.Object); ok {
			all = append(all, object)
		}
	}
	slices.SortFunc(all, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	o.changed(all)
	return nil
}
