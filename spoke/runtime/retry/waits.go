package retry

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// jitterFactor is how much of a wait is added to it at most.
const jitterFactor = 0.3

// Jitter returns a wait with up to 30 % more by chance, so that what failed, or was looked at, together does not come back
// together.
func Jitter(d time.Duration) time.Duration { return wait.Jitter(d, jitterFactor) }

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

// Sooner returns the shorter of two waits. A wait of 0 or less does not count; Sooner returns 0 if
// neither counts.
func Sooner(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}

// Later asks for another attempt after about the given time, with Jitter.
func (w Waits) Later(d time.Duration) reconcile.Result {
	return reconcile.Result{RequeueAfter: Jitter(w.Scaled(d))}
}
