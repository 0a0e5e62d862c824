package hint

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/clientcmd"
)

// advised is an error that knows what to do about it.
type advised struct {
	error
	todo string
}

// Unwrap returns the error itself.
func (a *advised) Unwrap() error { return a.error }

// With adds advice to an error: full sentences without a line break. A nil error stays nil.
func With(err error, todo string) error {
	if err == nil {
		return nil
	}
	return &advised{error: err, todo: todo}
}

// For returns the advice for an error, or nothing.
func For(err error) string {
	if a, ok := errors.AsType[*advised](err); ok {
		return a.todo
	}
	var certificate *tls.CertificateVerificationError
	var network net.Error
	switch {
	case err == nil:
		return ""
	case clientcmd.IsEmptyConfig(err):
		return "No cluster is configured: give --kubeconfig, or set KUBECONFIG."
	case meta.IsNoMatchError(err):
		return "The kind is not installed there. On a hub: kubectl apply -f config/crd/bases. " +
			"Is it the hub? Choose another cluster with --context or --kubeconfig."
	case apierrors.IsUnauthorized(err):
		return "The cluster refuses these credentials: have they expired? Choose others with --kubeconfig or --context."
	case apierrors.IsForbidden(err):
		return "These credentials lack the permission named above: use others, or have it granted."
	case errors.As(err, &certificate):
		return "The server's certificate does not match the CA of the kubeconfig: is it that cluster's kubeconfig, and its address?"
	case errors.As(err, &network), errors.Is(err, context.DeadlineExceeded):
		return "The cluster does not answer: is it running, and is this its address? Choose another with --kubeconfig or --context."
	}
	return ""
}
