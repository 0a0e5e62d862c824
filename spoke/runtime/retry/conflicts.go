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

// Conflicts counts for each request of a controller. The zero value is ready for use, and safe for concurrent use.
type Conflicts struct {
	mu    sync.Mutex
	inRow map[reconcile.Request]apierror.InRow
}

// count records whether a request ended in a conflict, and returns how many there were in a row.
func (c *Conflicts) count(request reconcile.Request, conflict bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.inRow[request]
	inRow := n.Count(conflict)
	if !conflict {
		delete(c.inRow, request)
		return 0
	}
	if c.inRow == nil {
		c.inRow = map[reconcile.Request]apierror.InRow{}
	}
	c.inRow[request] = n
	return inRow
}

// Retry returns what Reconcile returns for a result and an error that no condition reports.
// Conflicts, throttling and fenced or paused writes are quiet; the queue logs, counts and retries
// everything else.
func (c *Conflicts) Retry(w Waits, request reconcile.Request, result reconcile.Result, err error) (reconcile.Result, error) {
	return Result(w, c.count(request, apierror.Classify(err) == apierror.Conflict), result, err)
}

// RetryReported returns what Reconcile returns, in a controller.Controller, for an error that a condition reports: the
// queue gets those that pass without a change of anything. Of joined errors the soonest counts.
func (c *Conflicts) RetryReported(w Waits, request reconcile.Request, err error) (reconcile.Result, error) {
	return Reported(w, c.count(request, HasConflict(err)), err)
}

// Result returns what Conflicts.Retry does, after so many conflicts in a row that others count.
func Result(w Waits, inRow int, result reconcile.Result, err error) (reconcile.Result, error) {
	d := apierror.Decide(err)
	switch d.Class {
	case apierror.None:
		return result, nil
	case apierror.Conflict:
		return w.Later(apierror.ConflictDelay(inRow)), nil
	case apierror.Throttled, apierror.Fenced:
		return w.Later(d.Wait), nil
	case apierror.Paused:
		return result, nil
	default:
		return reconcile.Result{}, err
	}
}

// Reported returns what Conflicts.RetryReported does, in a controller.Controller, after so many conflicts in a row that
// others count.
func Reported(w Waits, inRow int, err error) (reconcile.Result, error) {
	after, failed := time.Duration(0), error(nil)
	for _, part := range parts(err) {
		d := apierror.Decide(part)
		if d.Return {
			failed = err
		}
		if d.Class == apierror.Conflict {
			d.Wait = max(d.Wait, apierror.ConflictDelay(inRow))
		}
		after = Sooner(after, d.Wait)
	}
	return w.Later(after), failed
}

// HasConflict reports whether an error is a conflict, or one that is joined with others.
func HasConflict(err error) bool {
	return slices.ContainsFunc(parts(err), func(err error) bool { return apierror.Classify(err) == apierror.Conflict })
}

// parts returns the errors that are joined in one: each of them may pass by itself.
func parts(err error) []error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}
