package queues

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shopfleet/shopfleet/spoke/apierror"
)

// Waits changes how long controllers wait before they look again at what no watch
// reports. They take the times themselves from constants. The zero value leaves these as
// they are and is what the hub runs with; tests shorten them. Waits is a value and safe
// for concurrent use.
type Waits struct {
	// Scale multiplies each wait; 0 means 1.
	Scale float64
	// Longest bounds each wait after that; 0 means no bound.
	Longest time.Duration
}

// Scaled returns how long to wait for what otherwise takes d.
func (w Waits) Scaled(d time.Duration) time.Duration {
	if w.Scale > 0 {
		d = time.Duration(float64(d) * w.Scale)
	}
	if w.Longest > 0 {
		d = min(d, w.Longest)
	}
	return d
}

// Later asks for another attempt after about the given time. It adds up to 30 % by
// chance, so that what failed together does not try again together.
func (w Waits) Later(d time.Duration) reconcile.Result {
	return reconcile.Result{RequeueAfter: wait.Jitter(w.Scaled(d), jitterFactor)}
}

// Retry returns what Reconcile returns for an error that no condition reports. Conflicts,
// throttling and fenced writes are quiet; the queue logs, counts and retries everything else.
func (w Waits) Retry(err error) (reconcile.Result, error) {
	switch d := apierror.Decide(err); d.Class {
	case apierror.Conflict, apierror.Throttled, apierror.Fenced:
		return w.Later(d.Wait), nil
	default:
		return reconcile.Result{}, err
	}
}

// RetryReported returns what Reconcile returns for an error that a condition reports: the
// queue gets those that pass without a change of anything.
func (w Waits) RetryReported(err error) (reconcile.Result, error) {
	d := apierror.Decide(err)
	if d.Return {
		return reconcile.Result{}, err
	}
	return w.Later(d.Wait), nil
}
