package steps

import (
	"errors"
	"fmt"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// Intervals of polling and retries.
const (
	PollFirst = 5 * time.Second
	pollLast  = time.Minute
	// Transient is for errors that pass without intervention, Refused for those that need
	// it, Quota for quotas, Locked for locks, which last for days, Member for a member that
	// does not answer, NotConnected for one whose connection wakes the controller.
	Transient = apierror.ThrottledWait
	Refused   = apierror.BlockedWait
	Quota     = 10 * time.Minute
	Locked    = 6 * time.Hour
	Member    = 15 * time.Second

	NotConnected = apierror.BlockedWait
)

// Result is the outcome of a step. The zero value means that the step may continue.
type Result struct {
	// Reason and Message are for the condition Ready. An empty Reason means that the step
	// may continue.
	Reason, Message string
	// Fatal means that retrying cannot succeed.
	Fatal bool
	// Wait is when to retry.
	Wait time.Duration
}

// Stops reports whether the step cannot continue.
func (r Result) Stops() bool { return r.Reason != "" }

// Fail returns a fatal result.
func Fail(reason, format string, args ...any) Result {
	return Result{Reason: reason, Message: fmt.Sprintf(format, args...), Fatal: true}
}

// RetryAfter returns a result to retry after wait.
func RetryAfter(wait time.Duration, reason, format string, args ...any) Result {
	return Result{Reason: reason, Message: fmt.Sprintf(format, args...), Wait: wait}
}

// Within returns a result whose wait ends with the time that is left of a limit, so that what
// is waited for ends then, but for the jitter of waits.
func (r Result) Within(left time.Duration) Result {
	if r.Stops() {
		r.Wait = min(r.Wait, max(left, 0)+time.Second) // Times in a status are whole seconds.
	}
	return r
}

// FromError returns the result for an error of a cloud provider. It considers the class
// of the error, and the codes that package accounts defines.
func FromError(err error, what string) Result {
	var e *cloud.Error
	if !errors.As(err, &e) {
		return RetryAfter(Transient, v1.ReasonCloudUnavailable, "%s: the request to the cloud provider failed", what)
	}
	if e.Code == accounts.CodeSafeMode {
		return RetryAfter(Refused, v1.ReasonPaused, "%s: %s", what, e.Message)
	}
	wait := max(e.RetryAfter, Transient)
	switch e.Class {
	case cloud.ClassThrottled:
		return RetryAfter(wait, v1.ReasonThrottled, "%s: the provider throttles requests%s", what, code(e))
	case cloud.ClassTransient:
		return RetryAfter(wait, v1.ReasonCloudUnavailable, "%s: the provider does not answer", what)
	case cloud.ClassAmbiguous:
		return RetryAfter(wait, v1.ReasonRetrying, "%s: the response was lost; checking the result", what)
	case cloud.ClassQuota:
		return RetryAfter(max(wait, Quota), v1.ReasonQuotaExceeded, "%s: a quota of the account is exhausted%s", what, code(e))
	case cloud.ClassAuthExpired:
		return RetryAfter(Refused, v1.ReasonAccountNotReady, "%s: the provider rejects the credentials%s", what, code(e))
	case cloud.ClassDenied:
		return RetryAfter(Refused, v1.ReasonCloudRefused, "%s: the provider denies permission%s", what, code(e))
	case cloud.ClassLocked:
		return RetryAfter(Locked, v1.ReasonInUse, "%s: a lock or a retention policy of the provider keeps it; it is deleted when that has ended%s", what, code(e))
	case cloud.ClassInUse:
		return RetryAfter(Quota, v1.ReasonInUse, "%s: the resource is in use%s", what, code(e))
	case cloud.ClassNotFound:
		if e.Code == accounts.CodeUnknownAccount {
			// The account may be set soon, after a start of the hub.
			return RetryAfter(PollFirst, v1.ReasonAccountNotFound, "%s", e.Message)
		}
		return Fail(v1.ReasonSnapshotMissing, "%s: the resource does not exist%s", what, code(e))
	case cloud.ClassConflict:
		return Fail(v1.ReasonVolumeChanged, "%s: %s", what, e.Message)
	default:
		switch e.Code {
		case accounts.CodeRegionNotAllowed:
			return Fail(v1.ReasonRegionNotAllowed, "%s", e.Message)
		case accounts.CodeInvalidBucket:
			return RetryAfter(Refused, v1.ReasonAccountNotReady, "%s: %s", what, e.Message)
		}
		return Fail(v1.ReasonCloudRefused, "%s: %s", what, e.Message)
	}
}

// FromMember returns the result for an error of a member's API server. The parameter what
// completes "the hub may not". The answer of the API server is left out, because it may
// quote a Job with a signed URL.
func FromMember(err error, member, what string) Result {
	switch d := apierror.Decide(err); d.Class {
	case apierror.NotConnected:
		return RetryAfter(NotConnected, d.Reason, "%s is not connected", member)
	case apierror.Throttled:
		return RetryAfter(d.Wait, v1.ReasonThrottled, "%s throttles requests", member)
	case apierror.Fenced:
		return RetryAfter(d.Wait, v1.ReasonRetrying, "the hub has to renew its Lease first")
	case apierror.Paused:
		return RetryAfter(Member, d.Reason, "held back by spec.paused of MemberCluster %s, or by the hub's safe mode", member)
	case apierror.Conflict:
		return RetryAfter(PollFirst, v1.ReasonRetrying, "another client changed an object in %s at the same time", member)
	case apierror.Forbidden:
		return RetryAfter(d.Wait, d.Reason, "the hub may not %s in %s: run kubectl shopfleet join again", what, member)
	case apierror.Invalid, apierror.NotServed, apierror.NamespaceTerminating:
		return RetryAfter(d.Wait, v1.ReasonApplyFailed, "%s rejects an object of the hub (%s)", member, d.Class)
	case apierror.Internal:
		return RetryAfter(Member, v1.ReasonApplyFailed, "%s fails on an object of the hub, as with a webhook that it cannot call: repair that, the hub tries again", member)
	default:
		return RetryAfter(Member, v1.ReasonClusterUnreachable, "%s does not answer", member)
	}
}

// Rejected reports whether a reason of FromMember needs a user: the member rejects requests
// of the hub.
func Rejected(reason string) bool {
	return reason == v1.ReasonForbidden || reason == v1.ReasonApplyFailed
}

// MaxMessage bounds a message in a status, in bytes.
const MaxMessage = 1024

func code(e *cloud.Error) string {
	if e.Code == "" {
		return ""
	}
	return " (" + e.Code + ")"
}

// Poll returns when to poll an operation of a cloud provider, by its age.
func Poll(age time.Duration) time.Duration {
	return min(max(age/10, PollFirst), pollLast)
}
