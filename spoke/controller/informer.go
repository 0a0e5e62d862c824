package controller

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
)

// NewInformer returns an informer whose watches leave no goroutine behind. controller-runtime
// filters the watches of metadata with watch.Filter, which blocks for ever on an event that
// arrives while the watch is being stopped.
func NewInformer(
	lw toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	return informer{toolscache.NewSharedIndexInformer(drainingLister{lw}, object, resync, indexers)}
}

// informer runs with a context of the standard library. controller-runtime's has a channel of its
// own, which costs a goroutine for each context that is derived from it.
type informer struct{ toolscache.SharedIndexInformer }

// RunWithContext implements cache.SharedIndexInformer.
func (i informer) RunWithContext(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	i.SharedIndexInformer.RunWithContext(ctx)
}

// drainingLister drains the watches that it starts when they are stopped.
type drainingLister struct{ toolscache.ListerWatcher }

// ListWithContext implements cache.ListerWatcherWithContext.
func (l drainingLister) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return toolscache.ToListerWatcherWithContext(l.ListerWatcher).ListWithContext(ctx, options)
}

// WatchWithContext implements cache.ListerWatcherWithContext.
func (l drainingLister) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := toolscache.ToListerWatcherWithContext(l.ListerWatcher).WatchWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	return drainingWatch{w}, nil
}

// IsWatchListSemanticsUnSupported reports whether the client cannot list by a watch.
func (l drainingLister) IsWatchListSemanticsUnSupported() bool {
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
