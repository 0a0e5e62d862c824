package apierror

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// maxAnswer bounds what an API server answers, in bytes: it goes into conditions.
const maxAnswer = 1024

// Message describes an error for a condition. It is deterministic: it contains nothing
// that differs between attempts, such as addresses and ports, and that would cause a
// status write each time. Where a user has to act, it is the API server's message
// without the errors that wrap it.
func Message(err error) string {
	switch Classify(err) {
	case None:
		return ""
	case Blocked:
		b, _ := errors.AsType[blocked](err)
		return b.Error()
	case InvalidSpec:
		return specErrorOf(err).Error()
	case Forbidden, Invalid:
		return serverMessage(err)
	case Internal:
		return "repair what the cluster fails on, such as a webhook or a definition: " + Stable(serverMessage(err))
	case NotServed:
		if missing, ok := errors.AsType[*meta.NoKindMatchError](err); ok {
			return "the cluster has no " + missing.GroupKind.String()
		}
		return "the cluster does not serve this kind"
	case NamespaceTerminating:
		return "the namespace is being deleted"
	case NotConnected:
		return "the cluster is not connected"
	case Fenced:
		return ErrFenced.Error()
	case Paused:
		return ErrPaused.Error()
	case Throttled:
		return "the cluster throttles requests"
	case Unreachable:
		return network(err)
	default:
		return answer(err)
	}
}

// serverMessage returns what the API server answered, without the errors that wrap it; the
// text of the error if there is no answer.
func serverMessage(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		return v1.Excerpt(status.Status().Message, maxAnswer)
	}
	return v1.Excerpt(err.Error(), maxAnswer)
}

// answer describes an error by the code of the API server's answer.
func answer(err error) string {
	var status apierrors.APIStatus
	switch reason := apierrors.ReasonForError(err); {
	case reason != metav1.StatusReasonUnknown:
		return fmt.Sprintf("the cluster answers %s", reason)
	case errors.As(err, &status):
		return fmt.Sprintf("the cluster answers with code %d", status.Status().Code)
	default:
		return "an error of the controller: see its log"
	}
}

// network describes an error of the network by its type, and returns nothing for others.
func network(err error) string {
	failure, failed := errors.AsType[net.Error](err)
	var status apierrors.APIStatus
	var file *fs.PathError
	switch {
	case errors.As(err, &status):
		return ""
	// Its error number is a net.Error, and so is the url.Error of a request that a file is missing for.
	case errors.As(err, &file):
		return ""
	// Also the deadline of a context.
	case failed && failure.Timeout():
		return "the cluster does not answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the cluster refuses connections"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route to the cluster"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the cluster closes the connection"
	case failed:
		return "the cluster cannot be reached"
	default:
		return ""
	}
}
