package apierror

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// The waits of the policies.
const (
	// ConflictWait is how long a cache needs to receive the object that a conflict is
	// about, and longestConflictWait the longest wait after many conflicts.
	ConflictWait        = 200 * time.Millisecond
	longestConflictWait = 5 * time.Second
	// fencedWait is the wait for a renewal of the Lease, or for the end of the process.
	fencedWait = 2 * time.Second
	// ThrottledWait is the wait if the API server does not ask for one.
	ThrottledWait = 10 * time.Second
	// BlockedWait is the wait for what a user has to resolve. It also bounds what an API
	// server asks for.
	BlockedWait = 5 * time.Minute
	// namespaceWait is the wait for the end of a namespace, which no watch reports.
	namespaceWait = 30 * time.Second
)

// Decision describes how a controller reacts to an error. The zero value stands for no error.
type Decision struct {
	Class Class
	// Reason and Message are for the condition that reports the error. They are empty for
	// conflicts and fenced writes, which no condition mentions: it keeps what it says.
	Reason, Message string
	// Blocking means that the error lasts until something other than the object changes,
	// or a user changes the object.
	Blocking bool
	// Return means that the error is returned to the queue, which logs and counts it, and
	// retries with its own delays.
	Return bool
	// Wait is when to try again, without jitter; after a conflict, when that is the first. At
	// most one of Return and Wait is set; without either, an event wakes the controller.
	Wait time.Duration
}

// InRow counts the attempts in a row that ended in a conflict, so that the wait for the next one grows. The zero value
// has counted none.
type InRow int

// Count counts an attempt, and returns how many there were in a row.
func (i *InRow) Count(conflict bool) int {
	if *i++; !conflict {
		*i = 0
	}
	return int(*i)
}

// ConflictDelay returns the wait after so many conflicts in a row, without jitter: it begins
// with ConflictWait and doubles up to 5 s.
func ConflictDelay(inRow int) time.Duration {
	delay := ConflictWait
	for range inRow - 1 {
		if delay *= 2; delay >= longestConflictWait {
			return longestConflictWait
		}
	}
	return delay
}

// Decide returns what to do about an error.
func Decide(err error) Decision {
	d := Decision{Class: Classify(err), Message: Message(err)}
	switch d.Class {
	case None:
	case Conflict:
		d.Wait, d.Message = ConflictWait, ""
	case Fenced:
		d.Wait, d.Message = fencedWait, ""
	case Throttled:
		d.Reason, d.Wait = v1.ReasonApplyFailed, ThrottledWait
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			d.Wait = min(time.Duration(seconds)*time.Second, BlockedWait)
		}
	case Forbidden:
		d.Reason, d.Blocking, d.Wait = v1.ReasonForbidden, true, BlockedWait
	case Invalid:
		d.Reason, d.Blocking, d.Wait = v1.ReasonInvalidSpec, true, BlockedWait
	case NotServed:
		d.Reason, d.Blocking, d.Wait = v1.ReasonApplyFailed, true, BlockedWait
	case NamespaceTerminating:
		d.Reason, d.Blocking, d.Wait = v1.ReasonNamespaceTerminating, true, namespaceWait
	case Blocked:
		d.Reason, d.Blocking, d.Wait = reasonOf(err), true, BlockedWait
	case InvalidSpec:
		d.Reason, d.Blocking = specErrorOf(err).Reason, true
	case Paused:
		d.Reason = v1.ReasonPaused
	case NotConnected:
		d.Reason = v1.ReasonClusterUnreachable
	default: // Transient, Internal, Unreachable, Unauthorized, NotFound
		d.Reason, d.Return = v1.ReasonApplyFailed, true
	}
	return d
}
