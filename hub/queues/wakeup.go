package queues

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// jitterFactor spreads retries.
const jitterFactor = 0.3

// Wakeup adds to the queue of a controller from outside of it. The zero value is ready.
type Wakeup struct {
	mu    sync.RWMutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Source hands the queue over when the controller starts.
func (w *Wakeup) Source() source.Source {
	return source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.queue = q
		return nil
	})
}

// Add wakes the controller. Before it started it need not be woken: it begins with
// everything.
func (w *Wakeup) Add(requests ...reconcile.Request) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.queue == nil {
		return
	}
	for _, r := range requests {
		w.queue.Add(r)
	}
}

// AddAfter wakes the controller after a delay. Requests that repeat within the delay are
// one.
func (w *Wakeup) AddAfter(delay time.Duration, requests ...reconcile.Request) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.queue == nil {
		return
	}
	for _, r := range requests {
		w.queue.AddAfter(r, delay)
	}
}

// jittered is a limiter whose delays are spread.
type jittered[T comparable] struct {
	workqueue.TypedRateLimiter[T]
}

// NewRateLimiter doubles the delay with each failure, from first to last.
func NewRateLimiter[T comparable](first, last time.Duration) workqueue.TypedRateLimiter[T] {
	return jittered[T]{workqueue.NewTypedItemExponentialFailureRateLimiter[T](first, last)}
}

// When returns the delay of the next attempt.
func (j jittered[T]) When(item T) time.Duration {
	return wait.Jitter(j.TypedRateLimiter.When(item), jitterFactor)
}

// Later asks for another attempt after about the given time.
func Later(d time.Duration) reconcile.Result {
	return reconcile.Result{RequeueAfter: wait.Jitter(d, jitterFactor)}
}
