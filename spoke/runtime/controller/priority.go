package controller

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// maxPreceding is how many requests may precede one of low priority that waits, so that resyncs go on in
// a cluster that is always busy.
const maxPreceding = 16

// priorityQueue processes requests of low priority after all others: requests of a resync, and of the
// first list of a watch. It is a queue of client-go with a storage of two levels, and understands the
// priorities that the handlers of controller-runtime use.
type priorityQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	storage *levels
}

func newPriorityQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workQueue {
	storage := &levels{
		lowered: make(map[reconcile.Request]bool), raised: make(map[reconcile.Request]bool), isHigh: make(map[reconcile.Request]bool),
	}
	return &priorityQueue{storage: storage, TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{
			DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{
				Name:  name,
				Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: storage}),
			}),
		})}
}

// Add adds a request, which keeps its priority also if it is being processed.
func (q *priorityQueue) Add(request reconcile.Request) {
	q.storage.raise(request)
	q.TypedRateLimitingInterface.Add(request)
}

// AddAfter adds a request after a delay, which may be 0.
func (q *priorityQueue) AddAfter(request reconcile.Request, delay time.Duration) {
	if delay <= 0 {
		q.Add(request)
		return
	}
	q.TypedRateLimitingInterface.AddAfter(request, delay)
}

// AddWithOpts adds requests. One that is delayed has its priority when it arrives, unless it is added without
// a delay before.
func (q *priorityQueue) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, request := range requests {
		switch {
		case o.After > 0:
			if o.Priority != nil && *o.Priority < 0 {
				q.storage.lower(request)
			}
			q.AddAfter(request, o.After)
		case o.RateLimited:
			q.AddRateLimited(request)
		case o.Priority != nil && *o.Priority < 0:
			q.storage.lower(request)
			q.TypedRateLimitingInterface.Add(request)
		default:
			q.Add(request)
		}
	}
}

// GetWithPriority returns the next request. What follows from it is not of low priority.
func (q *priorityQueue) GetWithPriority() (request reconcile.Request, priority int, shutdown bool) {
	request, shutdown = q.Get()
	return request, 0, shutdown
}

// AddLowPriority adds requests to a queue behind all others, if it has priorities.
func AddLowPriority(q workqueue.TypedRateLimitingInterface[reconcile.Request], requests ...reconcile.Request) {
	priorities, ok := q.(priorityqueue.PriorityQueue[reconcile.Request])
	for _, request := range requests {
		if ok {
			priorities.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, request)
		} else {
			q.Add(request)
		}
	}
}

// levels is the storage of a work queue with two levels, each in the order of arrival. The queue calls
// it under its own lock, but for raise and lower.
type levels struct {
	mu sync.Mutex
	// lowered and raised are requests that are about to be added, are delayed, or wait until they have
	// been processed. The latter counts for one that is both.
	lowered, raised map[reconcile.Request]bool
	// isHigh has each request that is stored, and its level. One that moved up is still in low, where it
	// no longer counts.
	isHigh    map[reconcile.Request]bool
	high, low []reconcile.Request
	// preceding counts the requests since the last one of low priority.
	preceding int
}

func (l *levels) lower(request reconcile.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lowered[request] = true
}

func (l *levels) raise(request reconcile.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.raised[request] = true
}

// Push stores a request.
func (l *levels) Push(request reconcile.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.store(request, l.raised[request] || !l.lowered[request])
	delete(l.lowered, request)
}

// Touch moves a request up that is added again, if it is not of low priority this time.
func (l *levels) Touch(request reconcile.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if high, stored := l.isHigh[request]; stored && !high && (l.raised[request] || !l.lowered[request]) {
		l.store(request, true)
	}
	delete(l.lowered, request)
}

func (l *levels) store(request reconcile.Request, high bool) {
	l.isHigh[request] = high
	if high {
		l.high = append(l.high, request)
	} else {
		l.low = append(l.low, request)
	}
}

// Len returns the number of requests.
func (l *levels) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.isHigh)
}

// Pop removes the next request. There must be one.
func (l *levels) Pop() reconcile.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.low) > 0 {
		if high, stored := l.isHigh[l.low[0]]; stored && !high {
			break
		}
		l.low = l.low[1:] // It moved up.
	}
	from := &l.high
	switch {
	case len(l.low) == 0:
		l.preceding = 0
	case len(l.high) == 0 || l.preceding >= maxPreceding:
		from, l.preceding = &l.low, 0
	default:
		l.preceding++
	}
	next := (*from)[0]
	(*from)[0] = reconcile.Request{}
	*from = (*from)[1:]
	delete(l.isHigh, next)
	delete(l.raised, next)
	return next
}
