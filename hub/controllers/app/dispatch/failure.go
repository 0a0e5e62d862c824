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
	// blockedDelay is the delay after a failure whose end no watch reports: a missing
	// permission, a quota, a namespace that is being deleted.
	blockedDelay = 30 * time.Second
)

// errorResult is the classification of an error of a member.
type errorResult struct {
	// failure is shown in the status; nil shows nothing.
	failure *aggregate.Failure
	// quiet means that the error is not news: the failure that was shown stays.
	quiet bool
	// wait is when to try again, err what the queue retries with its own delays. At most
	// one is set; neither waits for the next change.
	wait time.Duration
	err  error
}

// classify classifies an error of a member. Messages are deterministic, since they are
// shown in a status.
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
		return errorResult{failure: fail(v1.ReasonConflict, conflict.Error()), wait: blockedDelay}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), errors.Is(err, errNamespaceTerminating):
		return errorResult{failure: fail(v1.ReasonNamespaceTerminating, "the namespace is being deleted there"), wait: blockedDelay}
	case apierrors.IsForbidden(err):
		return errorResult{failure: fail(v1.ReasonForbidden, messageOf(err)), wait: blockedDelay}
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return errorResult{failure: fail(v1.ReasonInvalidSpec, messageOf(err)), err: reconcile.TerminalError(err)}
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return errorResult{quiet: true, wait: conflictDelay}
	default:
		return errorResult{failure: fail(v1.ReasonApplyFailed, passing(err)), err: err}
	}
}

// passing describes a transient error without what differs between attempts: addresses,
// ports, times.
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

// messageOf returns the message of the API server.
func messageOf(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		return status.Status().Message
	}
	return err.Error()
}

// result returns what Reconcile returns for it.
func (r errorResult) result(waits queues.Waits) (reconcile.Result, error) {
	if r.wait == 0 {
		return reconcile.Result{}, r.err
	}
	return waits.Later(r.wait), r.err
}
