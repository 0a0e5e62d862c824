package reconciler

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Bounds of the delay before a failed reconciliation is tried again.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// Limiter doubles the delay of an item from 1 s to 5 min, with jitter: after an
// outage not everything comes at once.
type Limiter struct {
	workqueue.TypedRateLimiter[reconcile.Request]
}

// NewLimiter returns a Limiter that has seen no failure.
func NewLimiter() Limiter {
	return Limiter{workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)}
}

// When returns the delay of an item's next try.
func (l Limiter) When(item reconcile.Request) time.Duration {
	return min(jitter(l.TypedRateLimiter.When(item)), lastRetry)
}

// jitter returns a duration between 80 % and 120 % of d.
func jitter(d time.Duration) time.Duration {
	return wait.Jitter(d*4/5, 0.5)
}
