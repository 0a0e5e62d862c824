package transport

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func pemOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
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
		"connection refused": {
			edit(func(c *rest.Config) { c.Host = "https://127.0.0.1:1" }),
			Fault{v1.ReasonProbeFailed, "the cluster refuses connections"},
		},
		"no Kubernetes": {noIdentity, Fault{v1.ReasonProbeFailed, "the kubeconfig's server is not a Kubernetes API server"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			opened, err := Open(test.config, Timeouts{Dial: patience, Request: patience, Probe: patience, Watch: patience}, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			uid, err := opened.Probe(t.Context())
			if err == nil {
				t.Fatalf("uid %q", uid)
			}
			if got := Classify(err); got != test.want {
				t.Errorf("got %+v of %v, want %+v", got, err, test.want)
			}
		})
	}
}
