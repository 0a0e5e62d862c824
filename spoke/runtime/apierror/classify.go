package apierror

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	// ErrNotConnected means that there is no connection to a member, and that its next
	// connection is an event that wakes the controller.
	ErrNotConnected = errors.New("not connected")
	// ErrFenced means that a request was not sent, because the process did not renew its
	// Lease in time and another one may have taken it.
	ErrFenced = errors.New("the Lease was not renewed in time")
	// ErrPaused means that a request was not sent, because the cluster or the application is
	// paused. The end of the pause is an event that wakes the controller.
	ErrPaused = errors.New("writes are paused")
)

// Class groups errors that controllers handle alike.
type Class string

// The classes.
const (
	// None is the class of no error.
	None Class = ""
	// Transient errors pass without a change of anything. It is the class of all errors
	// that no other class describes.
	Transient Class = "Transient"
	// Conflict means that the object changed since it was read, or was created meanwhile.
	Conflict Class = "Conflict"
	// Internal means that the API server answers and fails on this object: it cannot call a webhook, or
	// a definition lacks a field. Requests about other objects may succeed.
	Internal Class = "Internal"
	// Throttled means that the API server rejects requests because it is overloaded.
	Throttled Class = "Throttled"
	// Forbidden means that permissions, a quota or a policy deny the request.
	Forbidden Class = "Forbidden"
	// Unauthorized means that the API server does not accept the credentials.
	Unauthorized Class = "Unauthorized"
	// Unreachable means that there is no answer: the network or the API server failed.
	Unreachable Class = "Unreachable"
	// Invalid means that a schema, a policy or a webhook rejects the object.
	Invalid Class = "Invalid"
	// NotFound means that the object, or one that it needs, does not exist.
	NotFound Class = "NotFound"
	// NotServed means that the cluster does not serve the kind.
	NotServed Class = "NotServed"
	// NamespaceTerminating means that the namespace is being deleted.
	NamespaceTerminating Class = "NamespaceTerminating"
	// NotConnected means that there is no connection to the member.
	NotConnected Class = "NotConnected"
	// Fenced means that the process may not write at the moment, and perhaps never again.
	Fenced Class = "Fenced"
	// Paused means that the process must not write to the cluster until a user resumes it.
	Paused Class = "Paused"
	// Blocked means that a controller refused to write what a user has to resolve first.
	Blocked Class = "Blocked"
	// InvalidSpec means that a controller rejects a spec. Nothing but a change of an object
	// that the controller watches ends it.
	InvalidSpec Class = "InvalidSpec"
)

// SpecError is the error of class InvalidSpec.
type SpecError struct {
	// Reason is the reason of the condition that reports the error.
	Reason string
	// Err has a deterministic text, which says what to change.
	Err error
}

// Error returns the text of Err.
func (e *SpecError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *SpecError) Unwrap() error { return e.Err }

// blocked is implemented by errors of class Blocked. Their text is deterministic and says
// what to do.
type blocked interface {
	error
	// ConditionReason returns the reason of the condition that reports the error.
	ConditionReason() string
}

// internalServerError is the code of an answer of class Internal.
const internalServerError = 500

// ofObject is implemented by errors of a write that the API server failed on and that are about
// one object alone.
type ofObject interface {
	error
	// ConcernsObject marks the error.
	ConcernsObject()
}

// Classify returns the class of an error. It never considers the text.
func Classify(err error) Class {
	switch {
	case err == nil:
		return None
	case reasonOf(err) != "":
		return Blocked
	case specErrorOf(err) != nil:
		return InvalidSpec
	case errors.Is(err, ErrFenced):
		return Fenced
	case errors.Is(err, ErrPaused):
		return Paused
	case errors.Is(err, ErrNotConnected):
		return NotConnected
	// The API server reports it as forbidden.
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return NamespaceTerminating
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return Conflict
	case apierrors.IsTooManyRequests(err):
		return Throttled
	case apierrors.IsForbidden(err):
		return Forbidden
	case apierrors.IsUnauthorized(err):
		return Unauthorized
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return Invalid
	case meta.IsNoMatchError(err), apierrors.IsMethodNotSupported(err):
		return NotServed
	case apierrors.IsNotFound(err):
		return NotFound
	case internal(err):
		return Internal
	case network(err) != "":
		return Unreachable
	default:
		return Transient
	}
}

// internal reports whether the API server itself answers that it failed on an object. A proxy or a load
// balancer in front of it answers without a Status. A server-side apply that a definition or the storage
// rejects has the code alone.
func internal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierrors.IsUnexpectedServerError(err) {
		return false
	}
	_, concerned := errors.AsType[ofObject](err)
	return apierrors.ReasonForError(err) == metav1.StatusReasonInternalError ||
		concerned && status.Status().Code == internalServerError && status.Status().Reason == metav1.StatusReasonUnknown
}

// reasonOf returns the reason of an error of class Blocked, and nothing for others.
func reasonOf(err error) string {
	if b, ok := errors.AsType[blocked](err); ok {
		return b.ConditionReason()
	}
	return ""
}

func specErrorOf(err error) *SpecError {
	e, _ := errors.AsType[*SpecError](err)
	return e
}
