package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/keyutil"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/pki"
)

func issue(t *testing.T, subject pki.Subject) (*pki.Authority, *x509.Certificate) {
	t.Helper()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue(subject)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	return authority, loaded.Leaf
}

func verify(authority *pki.Authority, leaf *x509.Certificate, host string, usage x509.ExtKeyUsage) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Certificate())
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{usage}})
	return err
}

func TestServerCertificate(t *testing.T) {
	authority, leaf := issue(t, pki.Subject{User: "server", Hosts: []string{"127.0.0.1", "localhost"}})
	for _, host := range []string{"127.0.0.1", "localhost"} {
		if err := verify(authority, leaf, host, x509.ExtKeyUsageServerAuth); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if verify(authority, leaf, "example.com", x509.ExtKeyUsageServerAuth) == nil {
		t.Error("it is valid for a host it was not issued for")
	}
	if verify(authority, leaf, "", x509.ExtKeyUsageClientAuth) == nil {
		t.Error("it is valid for a client")
	}
}

func TestClientCertificate(t *testing.T) {
	authority, leaf := issue(t, pki.Subject{User: "ann", Groups: []string{"staff"}})
	if err := verify(authority, leaf, "", x509.ExtKeyUsageClientAuth); err != nil {
		t.Error(err)
	}
	if verify(authority, leaf, "", x509.ExtKeyUsageServerAuth) == nil {
		t.Error("it is valid for a server")
	}
	if leaf.Subject.CommonName != "ann" || !cmp.Equal(leaf.Subject.Organization, []string{"staff"}) {
		t.Errorf("issued for %v", leaf.Subject)
	}
	other, _ := issue(t, pki.Subject{User: "ann"})
	if verify(other, leaf, "", x509.ExtKeyUsageClientAuth) == nil {
		t.Error("another authority vouches for it")
	}
}

func TestSigningKeyIsReadByKubernetes(t *testing.T) {
	raw, err := pki.SigningKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keyutil.ParsePrivateKeyPEM(raw); err != nil {
		t.Error(err)
	}
	if _, err := keyutil.ParsePublicKeysPEM(raw); err != nil {
		t.Error(err)
	}
}

func TestKubeconfig(t *testing.T) {
	raw, err := pki.Kubeconfig{
		Cluster: "member", User: "ann", Server: "https://127.0.0.1:1", Authority: []byte("CA"), Token: "secret", Namespace: "shop",
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := clientcmd.NewClientConfigFromBytes(raw)
	if err != nil {
		t.Fatal(err)
	}
	config, err := loaded.ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	namespace, _, err := loaded.Namespace()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{config.Host, string(config.CAData), config.BearerToken, namespace}
	if diff := cmp.Diff([]string{"https://127.0.0.1:1", "CA", "secret", "shop"}, got); diff != "" {
		t.Error(diff)
	}
}
