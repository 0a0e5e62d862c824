package stepresult

import (
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/accounts"
)

// How long to wait for what nothing tells us about.
const (
	PollFirst = 5 * time.Second
	pollLast  = time.Minute
	// Transient is for what goes by itself, Refused for what people must end, Quota for
	// what empties slowly, Member for a member that does not answer.
	Transient = 10 * time.Second
	Refused   = 5 * time.Minute
	Quota     = 10 * time.Minute
	Member    = 15 * time.Second
)

// Verdict is what stands in the way. The zero value is nothing.
type Result struct {
	// Reason and Message are for the condition Ready; empty reason: nothing stands in the way.
	Reason, Message string
	// Fatal means that it will never succeed.
	Fatal bool
	// Wait is when to look again.
	Wait time.Duration
}

// Stops tells whether anything stands in the way.
func (v Result) Stops() bool { return v.Reason != "" }

// Fail is the end of what is tried.
func Fail(reason, format string, args ...any) Result {
	return Result{Reason: reason, Message: fmt.Sprintf(format, args...), Fatal: true}
}

// Hold is to be looked at again after a time.
func Hold(wait time.Duration, reason, format string, args ...any) Result {
	return Result{Reason: reason, Message: fmt.Sprintf(format, args...), Wait: wait}
}

// Judge returns what an error of a cloud means. Messages are the same for the same
// trouble: they end up in a status. It goes by the class alone, but for the codes that
// the hub itself gives.
func FromError(err error, what string) Result {
	var e *cloud.Error
	if !errors.As(err, &e) {
		return Hold(Transient, v1.ReasonCloudUnavailable, "%s: the cloud could not be asked", what)
	}
	wait := max(e.RetryAfter, Transient)
	switch e.Class {
	case cloud.ClassThrottled:
		return Hold(wait, v1.ReasonThrottled, "%s: the provider asks to wait%s", what, code(e))
	case cloud.ClassTransient:
		return Hold(wait, v1.ReasonCloudUnavailable, "%s: the provider does not answer", what)
	case cloud.ClassAmbiguous:
		return Hold(wait, v1.ReasonRetrying, "%s: the answer was lost; looking for what came of it", what)
	case cloud.ClassQuota:
		return Hold(max(wait, Quota), v1.ReasonQuotaExceeded, "%s: a quota of the account is reached%s", what, code(e))
	case cloud.ClassAuthExpired:
		return Hold(Refused, v1.ReasonAccountNotReady, "%s: the provider does not accept the credentials%s", what, code(e))
	case cloud.ClassDenied:
		return Hold(Refused, v1.ReasonCloudRefused, "%s: the provider refuses it%s", what, code(e))
	case cloud.ClassInUse, cloud.ClassLocked:
		return Hold(Quota, v1.ReasonInUse, "%s: the provider holds it%s", what, code(e))
	case cloud.ClassNotFound:
		if e.Code == accounts.CodeUnknownAccount {
			// Asking costs nothing, and a hub that has just started knows none yet.
			return Hold(PollFirst, v1.ReasonAccountNotFound, "%s", e.Message)
		}
		return Fail(v1.ReasonSnapshotMissing, "%s: it is not there%s", what, code(e))
	case cloud.ClassConflict:
		return Fail(v1.ReasonVolumeChanged, "%s: %s", what, e.Message)
	default:
		switch e.Code {
		case accounts.CodeRegionNotAllowed:
			return Fail(v1.ReasonRegionNotAllowed, "%s", e.Message)
		case accounts.CodeInvalidBucket:
			return Hold(Refused, v1.ReasonAccountNotReady, "%s: %s", what, e.Message)
		}
		return Fail(v1.ReasonCloudRefused, "%s: %s", what, e.Message)
	}
}

// maxMessage bounds a message in a status, in bytes.
const maxMessage = 1024

// Clip shortens a message to what a status takes, 1024 bytes, between characters.
func Clip(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
}

func code(e *cloud.Error) string {
	if e.Code == "" {
		return ""
	}
	return " (" + e.Code + ")"
}

// Poll is how long to wait for what a cloud is doing, by how long it has been at it.
func Poll(age time.Duration) time.Duration {
	return min(max(age/10, PollFirst), pollLast)
}
