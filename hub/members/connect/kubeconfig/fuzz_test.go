package kubeconfig

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"
)

// FuzzParse holds that whatever is accepted is safe, and whatever is refused says so
// without quoting the input.
func FuzzParse(f *testing.F) {
	// Seeds must be the same in each process, so that they hold no certificates.
	bare := func(_ *api.Config, c *api.Cluster, _ *api.AuthInfo) { c.CertificateAuthorityData = nil }
	f.Add(file(f, bare))
	f.Add([]byte("apiVersion: v1\nkind: Config\ncurrent-context: c\n"))
	f.Add([]byte(`{"kind":"Config","users":[{"name":"u","user":{"exec":{"command":"x"}}}]}`))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add(file(f, func(f *api.Config, c *api.Cluster, u *api.AuthInfo) {
		bare(f, c, u)
		c.Server, u.Token = "https://[::1]:6443/a b", token(`{"exp":1}`)
	}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		access, err := Parse(raw)
		var refused *Error
		if err != nil {
			if !errors.As(err, &refused) || refused.Message == "" {
				t.Fatalf("error %v", err)
			}
			return
		}
		config := access.Config
		if !strings.HasPrefix(strings.ToLower(config.Host), "https://") {
			t.Errorf("host %q", config.Host)
		}
		allowed := &rest.Config{
			Host: config.Host, BearerToken: config.BearerToken, UserAgent: UserAgent, DisableCompression: config.DisableCompression,
			TLSClientConfig: rest.TLSClientConfig{
				ServerName: config.ServerName, CAData: config.CAData, CertData: config.CertData, KeyData: config.KeyData,
			},
		}
		if diff := cmp.Diff(allowed, config); diff != "" {
			t.Errorf("more than is allowed (-allowed +got):\n%s", diff)
		}
		if _, err := rest.TLSConfigFor(config); err != nil {
			t.Errorf("TLS: %v", err)
		}
	})
}
