package controller

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
)

// drainingListerWatcher drains the watches that it starts when they are stopped. controller-runtime filters
// the watches of metadata with watch.Filter, which blocks forever on an event that arrives while the
// watch is being stopped.
type drainingListerWatcher struct{ toolscache.ListerWatcher }

// ListWithContext implements cache.ListerWatcherWithContext.
func (l drainingListerWatcher) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return toolscache.ToListerWatcherWithContext(l.ListerWatcher).ListWithContext(ctx, options)
}

// WatchWithContext implements cache.ListerWatcherWithContext.
func (l drainingListerWatcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := toolscache.ToListerWatcherWithContext(l.ListerWatcher).WatchWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	return drainingWatch{w}, nil
}

// IsWatchListSemanticsUnSupported reports whether the client cannot list by a watch.
func (l drainingListerWatcher) IsWatchListSemanticsUnSupported() bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(l.ListerWatcher)
}

// drainingWatch discards the events that arrive after Stop.
type drainingWatch struct{ watch.Interface }

// Stop implements watch.Interface.
func (w drainingWatch) Stop() {
	w.Interface.Stop()
	go func() {
		for range w.ResultChan() { // Until the source closes it.
		}
	}()
}
