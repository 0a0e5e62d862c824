package reconciler

import (
	"context"
	"errors"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// class determines how an error is handled.
type class int

const (
	// quiet errors are write conflicts: retried immediately and not reported.
	quiet class = iota
	// transient errors are returned, and retried with exponential backoff.
	transient
	// blocked errors require a user to act; they are retried periodically.
	blocked
	// invalid errors require a change of the spec, and are not retried.
	invalid
)

// classify returns the class of a write error, and a problem with a deterministic
// message.
func classify(err error) (class, component.Problem) {
	var conflict *apply.ConflictError
	var lost *apply.LostError
	switch {
	case errors.As(err, &lost):
		return blocked, component.Problem{Reason: v1.ReasonCredentialsMissing, Message: lost.Error(), Blocking: true}
	case errors.As(err, &conflict):
		return blocked, component.Problem{Reason: v1.ReasonConflict, Message: conflict.Error(), Blocking: true}
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return quiet, component.Problem{}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return blocked, component.Problem{Reason: v1.ReasonNamespaceTerminating, Message: "the namespace is being deleted", Blocking: true}
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return blocked, component.Problem{Reason: v1.ReasonForbidden, Message: serverMessage(err), Blocking: true}
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return invalid, component.Problem{Reason: v1.ReasonInvalidSpec, Message: serverMessage(err), Blocking: true}
	case meta.IsNoMatchError(err), apierrors.IsMethodNotSupported(err):
		return blocked, component.Problem{Reason: v1.ReasonApplyFailed, Message: missingKind(err), Blocking: true}
	default:
		return transient, component.Problem{Reason: v1.ReasonApplyFailed, Message: "writing failed: " + kindOf(err)}
	}
}

// serverMessage returns the API server's message, without the wrapping errors.
func serverMessage(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

// notExpandable returns a message that says which claim cannot be expanded and what to
// do. The API server's message is included, because only it tells the cause.
func notExpandable(step component.Step, err error) string {
	class := "its StorageClass"
	if claim, ok := step.Target.(*corev1.PersistentVolumeClaim); ok && claim.Spec.StorageClassName != nil {
		class += " " + *claim.Spec.StorageClassName
	}
	return fmt.Sprintf("claim %s cannot be expanded to %s and keeps its size: set allowVolumeExpansion of %s, "+
		"and check that quotas and permissions allow it (%s)", step.Target.GetName(), step.Size.String(), class, serverMessage(err))
}

func missingKind(err error) string {
	if missing, ok := errors.AsType[*meta.NoKindMatchError](err); ok {
		return fmt.Sprintf("the cluster has no %s", missing.GroupKind.String())
	}
	return "the cluster does not serve this kind"
}

// kindOf describes a transient error. Its full text may differ on each attempt, and would
// cause a status write each time.
func kindOf(err error) string {
	var network net.Error
	switch reason := apierrors.ReasonForError(err); {
	case reason != metav1.StatusReasonUnknown:
		return string(reason)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "the API server did not answer in time"
	case errors.As(err, &network):
		return "the API server cannot be reached"
	default:
		return "see the log"
	}
}
