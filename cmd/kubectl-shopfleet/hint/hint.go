package hint

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/clientcmd"
)

// hinted is an error with a hint.
type hinted struct {
	error
	hint string
}

// Unwrap returns the error without its hint.
func (h *hinted) Unwrap() error { return h.error }

// With attaches a hint to an error: full sentences without a line break. A nil error stays nil.
func With(err error, text string) error {
	if err == nil {
		return nil
	}
	return &hinted{error: err, hint: text}
}

// IfNotFound attaches a hint to the error of an API server that an object does not exist.
// Other errors stay as they are.
func IfNotFound(err error, text string) error {
	if apierrors.IsNotFound(err) {
		return With(err, text)
	}
	return err
}

// For returns the hint for an error, or the empty string.
func For(err error) string {
	if h, ok := errors.AsType[*hinted](err); ok {
		return h.hint
	}
	var certificate *tls.CertificateVerificationError
	var file *fs.PathError
	switch {
	case err == nil:
		return ""
	case clientcmd.IsEmptyConfig(err):
		return "No cluster is configured. Set --kubeconfig or KUBECONFIG."
	case meta.IsNoMatchError(err):
		return "The CRDs are not installed in this cluster. If it is the hub, install them: kubectl apply --server-side -f config/crd/bases. " +
			"If it is not, choose the hub with --context or --kubeconfig."
	case apierrors.IsUnauthorized(err):
		return "The cluster rejects your credentials; they may have expired. Choose others with --kubeconfig or --context."
	case apierrors.IsForbidden(err):
		return "You lack the permission named above. See which you have: kubectl auth can-i --list. Use other credentials, or ask an administrator to grant it."
	case errors.As(err, &certificate):
		return "The certificate of the server is not signed by the CA in the kubeconfig. Check that the kubeconfig and the address belong to the same cluster."
	case errors.As(err, &file) && errors.Is(file, fs.ErrNotExist):
		return "Check the name of the file, and the folder that you are in."
	case errors.As(err, &file) && errors.Is(file, fs.ErrPermission):
		return "You may not read the file. Choose another, or change its permissions."
	case errors.As(err, &file):
		return ""
	case unanswered(err):
		return "The cluster does not answer. Check that it is running and that the address is right, or choose another with --kubeconfig or --context."
	}
	return ""
}

// unanswered reports whether a request got no answer. The type net.Error does not say so: an error number of the
// operating system is one, also about a file, and so is a url.Error, whatever ended the request.
func unanswered(err error) bool {
	var operation *net.OpError
	var name *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &operation), errors.As(err, &name), errors.Is(err, context.DeadlineExceeded):
		return true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		_, sent := errors.AsType[*url.Error](err)
		return sent
	}
	return errors.As(err, &timeout) && timeout.Timeout()
}
