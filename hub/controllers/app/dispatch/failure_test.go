package dispatch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

// outcome represents how the queue continues after a failure.
type outcome string

const (
	settled  outcome = "settled"
	soon     outcome = "soon"
	backoff  outcome = "backoff"
	terminal outcome = "terminal"
)

func outcomeOf(v errorResult) outcome {
	switch {
	case v.err != nil && v.wait != 0:
		return "both a result and an error"
	case errors.Is(v.err, reconcile.TerminalError(nil)):
		return terminal
	case v.err != nil:
		return backoff
	case v.wait > 0:
		return soon
	default:
		return settled
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Group: "ecommerce.io", Resource: "ecommerceapps"}
	ending := apierrors.NewForbidden(resource, "shop", errors.New("it is being terminated"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 34567}, Err: errors.New("connection refused")}

	tests := map[string]struct {
		err    error
		reason string
		want   outcome
	}{
		"nothing":                   {nil, "", settled},
		"somebody else's object":    {&apply.ConflictError{}, v1.ReasonConflict, soon},
		"a namespace that ends":     {ending, v1.ReasonNamespaceTerminating, soon},
		"a namespace seen to end":   {errNamespaceTerminating, v1.ReasonNamespaceTerminating, soon},
		"not allowed":               {apierrors.NewForbidden(resource, "shop", errors.New("no")), v1.ReasonForbidden, soon},
		"not valid":                 {apierrors.NewInvalid(schema.GroupKind{Kind: "EcommerceApp"}, "shop", nil), v1.ReasonInvalidSpec, terminal},
		"a newer object":            {apierrors.NewConflict(resource, "shop", errors.New("newer")), "", soon},
		"quicker":                   {apierrors.NewAlreadyExists(resource, "shop"), "", soon},
		"broken":                    {apierrors.NewInternalError(errors.New("etcd at 10.1.2.3 is away")), v1.ReasonApplyFailed, backoff},
		"too much":                  {apierrors.NewTooManyRequests("slow down", 1), v1.ReasonApplyFailed, backoff},
		"no answer":                 {context.DeadlineExceeded, v1.ReasonApplyFailed, backoff},
		"nobody there":              {dial, v1.ReasonApplyFailed, backoff},
		"a token that is not taken": {apierrors.NewUnauthorized("who are you"), v1.ReasonApplyFailed, backoff},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tt.err
			if err != nil {
				err = fmt.Errorf("writing the copy: %w", err)
			}
			v := classify(err)
			reason := ""
			if v.failure != nil {
				reason = v.failure.Reason
			}
			if got := outcomeOf(v); reason != tt.reason || got != tt.want {
				t.Errorf("judged %q, %s; want %q, %s", reason, got, tt.reason, tt.want)
			}
			if v.failure != nil && (v.failure.Message == "" || strings.Contains(v.failure.Message, "10.1.2.3")) {
				t.Errorf("message %q: want one, the same at each attempt", v.failure.Message)
			}
		})
	}
}
