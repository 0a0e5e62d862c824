package cloud

import (
	"errors"
	"fmt"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Class categorizes the errors of a provider. Callers decide on it.
type Class string

// The classes of errors. Only after Ambiguous the change may have taken effect.
const (
	// ClassNotFound means that the object does not exist, or is not visible yet.
	ClassNotFound Class = "NotFound"
	// ClassConflict means that another object has the name.
	ClassConflict Class = "Conflict"
	// ClassThrottled means too many requests; Error.RetryAfter is the time to wait.
	ClassThrottled Class = "Throttled"
	// ClassTransient means that nothing changed and that a retry may succeed.
	ClassTransient Class = "Transient"
	// ClassAmbiguous means that a change was sent and its response was lost.
	ClassAmbiguous Class = "Ambiguous"
	// ClassQuota means that a quota of the account is exhausted.
	ClassQuota Class = "Quota"
	// ClassDenied means that the identity lacks a permission; Error.Code is the permission
	// if the provider names it.
	ClassDenied Class = "Denied"
	// ClassAuthExpired means that the provider does not accept the credentials.
	ClassAuthExpired Class = "AuthExpired"
	// ClassInvalid means that the request cannot succeed without a change.
	ClassInvalid Class = "Invalid"
	// ClassInUse means that another resource still uses the object.
	ClassInUse Class = "InUse"
	// ClassLocked means that a lock or policy of the provider prevents the deletion. No request but a
	// deletion fails with it.
	ClassLocked Class = "Locked"
	// ClassUnsupported means that the provider does not have the operation.
	ClassUnsupported Class = "Unsupported"
)

// CodeForeign is the code of an error for an object of another owner. No change was requested.
const CodeForeign = "NotOurs"

// Error describes a failed operation. Its text contains no credentials and no signed URLs.
type Error struct {
	Class    Class
	Provider v1.Provider
	// Op is the method of this package, for example EnsureSnapshot.
	Op string
	// Code is the provider's error code, for example RequestLimitExceeded.
	Code string
	// Message is the provider's message, one line of at most 1024 characters.
	Message string
	// RequestID identifies the request to the provider's support.
	RequestID string
	// RetryAfter is the minimum time before a retry; 0 leaves it to the caller.
	RetryAfter time.Duration
	// Err is the cause, or nil.
	Err error
}

// Error returns a deterministic text: it omits the request ID, which differs for each request.
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

// ClassOf returns the class of an error, or "" if it does not wrap an *Error.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return ""
}

// RetryAfter returns the minimum time before a retry, or 0 if the error does not define one.
func RetryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}
