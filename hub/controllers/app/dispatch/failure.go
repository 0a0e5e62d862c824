package dispatch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/aggregate"
	"github.com/shopfleet/shopfleet/hub/queues"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

const (
	// conflictDelay is how long to wait for the cache after a conflict.
	conflictDelay = 200 * time.Millisecond
	// blockedDelay is how long to wait for what no watch tells about: a
	// permission, a quota, the end of a namespace.
	blockedDelay = 30 * time.Second
)

// verdict is what an error of a member means.
type errorResult struct {
	// failure is what to show; nil shows nothing.
	failure *aggregate.Failure
	// quiet tells that the error says nothing new: what was shown before stays.
	quiet bool
	// result and err are what to tell the queue; never both.
	result reconcile.Result
	err    error
}

// judge classifies an error of a member. Messages are the same for the same
// trouble: they end up in a status.
func classify(err error) errorResult {
	var conflict *apply.ConflictError
	var local *unsupportedError
	fail := func(reason, message string) *aggregate.Failure {
		return &aggregate.Failure{Reason: reason, Message: message}
	}
	switch {
	case err == nil:
		return errorResult{}
	case errors.As(err, &local):
		// A change of the application or of the member wakes us.
		return errorResult{failure: fail(local.reason, local.Error())}
	case errors.As(err, &conflict):
		return errorResult{failure: fail(v1.ReasonConflict, conflict.Error()), result: queues.Later(blockedDelay)}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), errors.Is(err, errNamespaceTerminating):
		return errorResult{failure: fail(v1.ReasonNamespaceTerminating, "the namespace is being deleted there"), result: queues.Later(blockedDelay)}
	case apierrors.IsForbidden(err):
		return errorResult{failure: fail(v1.ReasonForbidden, messageOf(err)), result: queues.Later(blockedDelay)}
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return errorResult{failure: fail(v1.ReasonInvalidSpec, messageOf(err)), err: reconcile.TerminalError(err)}
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return errorResult{quiet: true, result: queues.Later(conflictDelay)}
	default:
		return errorResult{failure: fail(v1.ReasonApplyFailed, passing(err)), err: err}
	}
}

// passing describes an error that goes by itself, without what differs from one
// attempt to the next: addresses, ports, times.
func passing(err error) string {
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout(), apierrors.IsTimeout(err):
		return "the cluster did not answer in time"
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown:
		return fmt.Sprintf("the cluster answered %s", apierrors.ReasonForError(err))
	default:
		return "the cluster could not be reached"
	}
}

// messageOf returns what the API server said.
func messageOf(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		return status.Status().Message
	}
	return err.Error()
}
