package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// watchSeconds is after how long a server ends a watch, and it begins anew.
	watchSeconds = 300
	// pause is the time before a list after trouble.
	pause = time.Second
)

// Watcher starts watches. Its requests must have no overall timeout.
type Watcher interface {
	Watch(ctx context.Context, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error)
}

// Lister lists. Each of its requests must have a deadline.
type Lister interface {
	List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error
}

// Query is what is followed.
type Query struct {
	Lister  Lister
	Watcher Watcher
	Clock   clock.Clock
	// List is an empty list of the kind.
	List    client.ObjectList
	Options []client.ListOption
	// Trouble is told why the picture may be old; nil when it is current again.
	Trouble func(error)
}

// Run calls see with all objects, sorted by namespace and name, at once and after
// every change, until see says that it has seen enough, see fails, or the context
// ends, which is returned as its cause.
func (q Query) Run(ctx context.Context, see func([]client.Object) (enough bool, err error)) error {
	for first := true; ; first = false {
		enough, err := q.once(ctx, first, see)
		var refused *seeError
		switch {
		case errors.As(err, &refused):
			return refused.error
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case enough, first && errors.Is(err, errList):
			return err
		case err != nil:
			q.Trouble(err)
		}
		if err := q.rest(ctx); err != nil {
			return err
		}
	}
}

// errList marks a failed list: when it is the first, everything ends.
var errList = errors.New("listing")

// once lists and watches. It returns without an error when the server ended the
// watch in good order.
func (q Query) once(ctx context.Context, first bool, see func([]client.Object) (bool, error)) (bool, error) {
	objects, version, err := q.list(ctx)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errList, err)
	}
	if !first {
		q.Trouble(nil)
	}
	return q.watch(ctx, &view{objects: objects, version: version, see: see})
}

// rest waits a little.
func (q Query) rest(ctx context.Context) error {
	timer := q.Clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C():
		return nil
	}
}

func (q Query) list(ctx context.Context) (map[types.NamespacedName]client.Object, string, error) {
	list, ok := q.List.DeepCopyObject().(client.ObjectList)
	if !ok {
		return nil, "", fmt.Errorf("copying %T: not a list", q.List)
	}
	if err := q.Lister.List(ctx, list, q.Options...); err != nil {
		return nil, "", err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, "", fmt.Errorf("reading the list: %w", err)
	}
	objects := make(map[types.NamespacedName]client.Object, len(items))
	for _, item := range items {
		if object, ok := item.(client.Object); ok {
			objects[client.ObjectKeyFromObject(object)] = object
		}
	}
	return objects, list.GetResourceVersion(), nil
}

// view is the current picture, and who looks at it.
type view struct {
	objects map[types.NamespacedName]client.Object
	version string
	see     func([]client.Object) (bool, error)
}

// seeError is an error of who looks, which ends everything.
type seeError struct{ error }

func (s *seeError) Unwrap() error { return s.error }

func (v *view) show() (bool, error) {
	objects := make([]client.Object, 0, len(v.objects))
	for _, o := range v.objects {
		objects = append(objects, o)
	}
	slices.SortFunc(objects, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	enough, err := v.see(objects)
	if err != nil {
		return false, &seeError{err}
	}
	return enough, nil
}

// watch shows the picture and each change of it. It returns without an error when
// the server ended the watch in good order.
func (q Query) watch(ctx context.Context, v *view) (bool, error) {
	if enough, err := v.show(); enough || err != nil {
		return enough, err
	}
	options := slices.Concat(q.Options, []client.ListOption{&client.ListOptions{Raw: &metav1.ListOptions{
		ResourceVersion: v.version, TimeoutSeconds: new(int64(watchSeconds)),
	}}})
	watcher, err := q.Watcher.Watch(ctx, q.List, options...)
	if err != nil {
		return false, fmt.Errorf("watching: %w", err)
	}
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case event, open := <-watcher.ResultChan():
			if !open {
				return false, nil
			}
			enough, err := v.take(event)
			if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				return false, nil
			}
			if enough || err != nil {
				return enough, err
			}
		}
	}
}

// take enters one event into the picture.
func (v *view) take(event watch.Event) (bool, error) {
	if event.Type == watch.Error {
		return false, fmt.Errorf("watching: %w", apierrors.FromObject(event.Object))
	}
	object, ok := event.Object.(client.Object)
	if !ok {
		return false, nil
	}
	switch event.Type {
	case watch.Added, watch.Modified:
		v.objects[client.ObjectKeyFromObject(object)] = object
	case watch.Deleted:
		delete(v.objects, client.ObjectKeyFromObject(object))
	default:
		return false, nil
	}
	return v.show()
}
