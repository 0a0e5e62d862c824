package transport

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func pemOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func TestClassify(t *testing.T) {
	dial := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://10.0.0.1", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
	}
	tests := map[string]struct {
		err  error
		want Fault
	}{
		"401": {
			apierrors.NewUnauthorized("x"),
			Fault{v1.ReasonUnauthorized, "the cluster does not accept the credentials of the kubeconfig"},
		},
		"403": {
			apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, "kube-system", nil),
			Fault{v1.ReasonPermissionsMissing, "the credentials do not allow to get the namespace kube-system"},
		},
		"500":      {apierrors.NewInternalError(errors.New("x")), Fault{v1.ReasonProbeFailed, "the cluster answers with an error"}},
		"refused":  {dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), Fault{v1.ReasonProbeFailed, "the cluster refuses connections"}},
		"reset":    {dial(os.NewSyscallError("read", syscall.ECONNRESET)), Fault{v1.ReasonProbeFailed, "the cluster closes the connection"}},
		"no route": {dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), Fault{v1.ReasonProbeFailed, "there is no route to the cluster"}},
		"dial timeout": {
			dial(os.NewSyscallError("connect", syscall.ETIMEDOUT)), Fault{v1.ReasonProbeFailed, "the cluster does not answer in time"},
		},
		"deadline": {fmt.Errorf("probing: %w", context.DeadlineExceeded), Fault{v1.ReasonProbeFailed, "the cluster does not answer in time"}},
		"no name": {
			dial(&net.DNSError{Name: "x", IsNotFound: true}),
			Fault{v1.ReasonProbeFailed, "the host name of the kubeconfig's server cannot be resolved"},
		},
		"anything": {errors.New("x"), Fault{v1.ReasonProbeFailed, "the cluster cannot be reached"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Classify(test.err); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestClassifyHandshakes uses real handshakes: how an error is wrapped is the
// libraries' matter.
func TestClassifyHandshakes(t *testing.T) {
	_, good := server(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, "u") })
	_, noIdentity := server(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, "") })
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	edit := func(change func(*rest.Config)) *rest.Config {
		c := rest.CopyConfig(good)
		change(c)
		return c
	}
	tests := map[string]struct {
		config *rest.Config
		want   Fault
	}{
		"unknown authority": {
			edit(func(c *rest.Config) { c.CAData = nil }),
			Fault{v1.ReasonCertificateInvalid, "the cluster's certificate is not signed by the kubeconfig's certificate-authority-data"},
		},
		"other host": {
			edit(func(c *rest.Config) { c.ServerName = "other" }),
			Fault{v1.ReasonCertificateInvalid, "the cluster's certificate is not for the host of the kubeconfig's server: set server or tls-server-name to a name in it"},
		},
		"no TLS": {
			edit(func(c *rest.Config) { c.Host = "https" + plain.URL[len("http"):] }),
			Fault{v1.ReasonCertificateInvalid, "the kubeconfig's server does not speak TLS"},
		},
		"nobody listens": {
			edit(func(c *rest.Config) { c.Host = "https://127.0.0.1:1" }),
			Fault{v1.ReasonProbeFailed, "the cluster refuses connections"},
		},
		"no Kubernetes": {noIdentity, Fault{v1.ReasonProbeFailed, "the kubeconfig's server is not a Kubernetes API server"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l, err := Open(test.config, Timeouts{Dial: patience, Request: patience, Probe: patience})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			uid, err := l.Probe(t.Context())
			if err == nil {
				t.Fatalf("uid %q", uid)
			}
			if got := Classify(err); got != test.want {
				t.Errorf("got %+v of %v, want %+v", got, err, test.want)
			}
		})
	}
}
