package retry

import (
	"errors"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// MergeFromLocked returns a merge patch of what changes in an object. It ends in a conflict if the object is another
// one than before meanwhile.
func MergeFromLocked(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// Conflicts counts how often in a row a controller's request ended in a conflict, so that the
// wait for the next attempt grows. The zero value is ready for use, and safe for concurrent
// use.
type Conflicts struct {
	mu    sync.Mutex
	inRow map[reconcile.Request]int
}

// Wait records whether a request ended in a conflict, and returns how long to wait then, without
// jitter; 0 if it did not.
func (c *Conflicts) Wait(request reconcile.Request, conflict bool) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !conflict {
		delete(c.inRow, request)
		return 0
	}
	if c.inRow == nil {
		c.inRow = map[reconcile.Request]int{}
	}
	c.inRow[request]++
	return apierror.ConflictDelay(c.inRow[request])
}

// Retry returns what Reconcile returns for a result and an error that no condition reports.
// Conflicts, throttling and fenced or paused writes are quiet; the queue logs, counts and retries
// everything else.
func (c *Conflicts) Retry(w Waits, request reconcile.Request, result reconcile.Result, err error) (reconcile.Result, error) {
	d := apierror.Decide(err)
	wait := c.Wait(request, d.Class == apierror.Conflict)
	switch d.Class {
	case apierror.None:
		return result, nil
	case apierror.Conflict:
		return w.Later(wait), nil
	case apierror.Throttled, apierror.Fenced:
		return w.Later(d.Wait), nil
	case apierror.Paused:
		return result, nil
	default:
		return reconcile.Result{}, err
	}
}

// RetryReported returns what Reconcile returns for an error that a condition reports: the
// queue gets those that pass without a change of anything. Of joined errors the soonest counts.
func (c *Conflicts) RetryReported(w Waits, request reconcile.Request, err error) (reconcile.Result, error) {
	all := parts(err)
	wait := c.Wait(request, slices.ContainsFunc(all, func(err error) bool { return apierror.Classify(err) == apierror.Conflict }))
	after := time.Duration(0)
	for _, part := range all {
		d := apierror.Decide(part)
		if d.Return {
			return reconcile.Result{}, err
		}
		if d.Class == apierror.Conflict {
			d.Wait = max(d.Wait, wait)
		}
		if d.Wait > 0 && (after == 0 || d.Wait < after) {
			after = d.Wait
		}
	}
	return w.Later(after), nil
}

// parts returns the errors that are joined in one: each of them may pass by itself.
func parts(err error) []error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}
