package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// Fault classifies an error of a request to a member.
type Fault struct {
	// Reason is ProbeFailed, Unauthorized, PermissionsMissing or CertificateInvalid.
	Reason string
	// Message is deterministic: it contains no addresses, ports or times.
	Message string
}

// Classify classifies the error of a request, by its type and never by its text.
func Classify(err error) Fault {
	if message, ok := certificateMessage(err); ok {
		return Fault{Reason: v1.ReasonCertificateInvalid, Message: message}
	}
	switch apierror.Classify(err) {
	case apierror.Unauthorized:
		return Fault{Reason: v1.ReasonUnauthorized, Message: "the cluster rejects the credentials of the kubeconfig"}
	case apierror.Forbidden:
		return Fault{Reason: v1.ReasonPermissionsMissing, Message: "the credentials do not allow to get the namespace kube-system"}
	default:
		return Fault{Reason: v1.ReasonProbeFailed, Message: probeMessage(err)}
	}
}

// certificateMessage returns a message for errors of TLS verification.
func certificateMessage(err error) (string, bool) {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var bad x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var roots x509.SystemRootsError
	var header tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		return "the cluster's certificate is not signed by the kubeconfig's certificate-authority-data", true
	case errors.As(err, &host):
		return "the cluster's certificate is not for the host of the kubeconfig's server: set server or tls-server-name to a name in it", true
	case errors.As(err, &bad) && bad.Reason == x509.Expired:
		return "the certificate of the cluster or of its authority has expired or is not yet valid", true
	case errors.As(err, &bad), errors.As(err, &verification), errors.As(err, &roots):
		return "the cluster's certificate cannot be verified", true
	case errors.As(err, &header), errors.Is(err, http.ErrSchemeMismatch):
		return "the kubeconfig's server does not speak TLS", true
	}
	return "", false
}

// probeMessage returns a message for errors other than of TLS and of credentials.
func probeMessage(err error) string {
	var name *net.DNSError
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &name):
		return "the host name of the kubeconfig's server cannot be resolved"
	case errors.Is(err, errNoIdentity):
		return "the kubeconfig's server is not a Kubernetes API server"
	case apierror.Classify(err) == apierror.Unreachable:
		return apierror.Message(err)
	case errors.As(err, &status):
		return "the cluster answers with an error"
	default:
		return "the cluster cannot be reached"
	}
}
