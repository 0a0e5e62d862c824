package cloud

import (
	"errors"
	"fmt"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Class is what kind of error a provider's is: what a caller decides on.
type Class string

// The classes. Ambiguous alone means that what was asked for may have happened.
const (
	// ClassNotFound means that what was asked about is not there, or not visible yet.
	ClassNotFound Class = "NotFound"
	// ClassConflict means that the name is taken by something else.
	ClassConflict Class = "Conflict"
	// ClassThrottled means too many requests; Error.RetryAfter says when to ask again.
	ClassThrottled Class = "Throttled"
	// ClassTransient means that nothing happened and that it goes by itself.
	ClassTransient Class = "Transient"
	// ClassAmbiguous means that a change was sent and its answer lost.
	ClassAmbiguous Class = "Ambiguous"
	// ClassQuota means that a bound of the account is reached.
	ClassQuota Class = "Quota"
	// ClassDenied means that the identity may not; Error.Code is the permission where
	// the provider names it.
	ClassDenied Class = "Denied"
	// ClassAuthExpired means that the credentials are not, or no longer, accepted.
	ClassAuthExpired Class = "AuthExpired"
	// ClassInvalid means that the request can never succeed as it is.
	ClassInvalid Class = "Invalid"
	// ClassInUse means that something else still uses it.
	ClassInUse Class = "InUse"
	// ClassLocked means that a lock or policy of the provider forbids the deletion.
	ClassLocked Class = "Locked"
	// ClassUnsupported means that the provider cannot do that.
	ClassUnsupported Class = "Unsupported"
)

// CodeForeign is the code of a refusal to touch what is not the owner's. Nothing was sent.
const CodeForeign = "NotOurs"

// Error is what went wrong in a cloud. Its text names no credential and no signed URL.
type Error struct {
	Class    Class
	Provider v1.Provider
	// Op is what was asked for, in the words of this package: "EnsureSnapshot".
	Op string
	// Code is the provider's own code, for example RequestLimitExceeded.
	Code string
	// Message is what the provider said, in one line of at most 1024 characters.
	Message string
	// RequestID is the provider's name of the request, for its support.
	RequestID string
	// RetryAfter is when to ask again at the earliest; 0 is up to the caller.
	RetryAfter time.Duration
	// Err is the cause; it may be nil.
	Err error
}

// Error describes the error. It leaves the request ID out, which differs each time.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s: %s", e.Provider, e.Op, e.Class)
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of an error, and "" of one that is not of a cloud.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return ""
}

// RetryAfter returns when to ask again at the earliest, and 0 when an error does not say.
func RetryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}
