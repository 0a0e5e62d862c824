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

// class is what is done about an error.
type class int

const (
	// quiet errors met a newer object: tried again at once, and not mentioned.
	quiet class = iota
	// transient errors are returned, and tried again with growing delays.
	transient
	// blocked errors wait for someone: tried again now and then.
	blocked
	// invalid errors wait for a change of the spec, and are not tried again.
	invalid
)

// classify says what is done about an error of a write, and how it is told: the
// same error has the same words every time.
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

// serverMessage is what the API server said, without where we were when it did.
func serverMessage(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

// notExpandable says which claim cannot grow, and what to do about it. Why the
// API server forbids it can only be told from its words.
func notExpandable(step component.Step, err error) string {
	class := "its StorageClass"
	if claim, ok := step.Target.(*corev1.PersistentVolumeClaim); ok && claim.Spec.StorageClassName != nil {
		class += " " + *claim.Spec.StorageClassName
	}
	return fmt.Sprintf("claim %s cannot grow to %s and keeps its size: set allowVolumeExpansion of %s, "+
		"and see that quotas and permissions let it grow (%s)", step.Target.GetName(), step.Size.String(), class, serverMessage(err))
}

func missingKind(err error) string {
	if missing, ok := errors.AsType[*meta.NoKindMatchError](err); ok {
		return fmt.Sprintf("the cluster has no %s", missing.GroupKind.String())
	}
	return "the cluster does not serve this kind"
}

// kindOf names the kind of a passing error. Its full text may differ each time,
// and would make each try a change of the status.
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
