package controller

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

type workQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Queue adds requests to the queue of a controller from outside. While the controller is
// not running, requests are kept for its start. The zero value is ready for use, and safe
// for concurrent use.
type Queue struct {
	mu sync.Mutex
	// live is the queue of the running controller, or nil.
	live workQueue
	// early holds requests, and their delays, for the start of the controller.
	early map[reconcile.Request]time.Duration
}

// Source returns the source that connects the queue to its controller.
func (q *Queue) Source() source.Source {
	return source.Func(func(ctx context.Context, live workQueue) error {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.live = live
		for request, delay := range q.early {
			live.AddAfter(request, delay)
		}
		q.early = nil
		context.AfterFunc(ctx, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			if q.live == live {
				q.live = nil
			}
		})
		return nil
	})
}

// Add adds requests. It never blocks on a reconciler.
func (q *Queue) Add(requests ...reconcile.Request) { q.AddAfter(0, requests...) }

// AddAfter adds requests after a delay. A request that is already delayed keeps the
// shorter delay.
func (q *Queue) AddAfter(delay time.Duration, requests ...reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.live == nil && q.early == nil {
		q.early = make(map[reconcile.Request]time.Duration)
	}
	for _, request := range requests {
		if q.live != nil {
			q.live.AddAfter(request, delay)
		} else if former, exists := q.early[request]; !exists || delay < former {
			q.early[request] = delay
		}
	}
}

// AddDue returns what a reconciler returns for a result and an error. controller-runtime retries an error after longer and
// longer waits, which must not delay a pass that is due: the request is added for RequeueAfter, and the retry may precede it.
func (q *Queue) AddDue(request reconcile.Request, result reconcile.Result, err error) (reconcile.Result, error) {
	if err != nil && result.RequeueAfter > 0 {
		q.AddAfter(result.RequeueAfter, request)
		result.RequeueAfter = 0
	}
	return result, err
}

// AddLowPriority adds requests behind all others. Those of a controller that has not started have the
// priority of others.
func (q *Queue) AddLowPriority(requests ...reconcile.Request) {
	q.mu.Lock()
	live := q.live
	q.mu.Unlock()
	if live == nil {
		q.Add(requests...)
		return
	}
	AddLowPriority(live, requests...)
}

// RequestsOf returns the requests for some keys.
func RequestsOf(keys ...types.NamespacedName) []reconcile.Request {
	requests := make([]reconcile.Request, 0, len(keys))
	for _, key := range keys {
		requests = append(requests, reconcile.Request{NamespacedName: key})
	}
	return requests
}

// RequestFor returns the request for an object.
func RequestFor(o client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
}
