package kubeconfig

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// secret stands for everything that must not come out again.
const secret = "s3cret-t0ken"

// pair makes a certificate that expires then, and its key.
func pair(t testing.TB, notAfter time.Time) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hub"},
		NotBefore: notAfter.Add(-time.Hour), NotAfter: notAfter,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

func expiry() time.Time { return time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC) }

func token(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

// file returns a valid kubeconfig, changed by the function.
func file(t testing.TB, change func(*api.Config, *api.Cluster, *api.AuthInfo)) []byte {
	t.Helper()
	authority, _ := pair(t, expiry())
	config := api.NewConfig()
	config.CurrentContext = "c"
	cluster := &api.Cluster{Server: "https://10.0.0.1:6443/k8s", CertificateAuthorityData: authority}
	user := &api.AuthInfo{Token: secret}
	config.Clusters["k"], config.AuthInfos["u"] = cluster, user
	config.Contexts["c"] = &api.Context{Cluster: "k", AuthInfo: "u"}
	if change != nil {
		change(config, cluster, user)
	}
	raw, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// refusal is a file that is refused: the one that is accepted with a change, or raw.
type refusal struct {
	change func(*api.Config, *api.Cluster, *api.AuthInfo)
	raw    []byte
	reason string
	says   string
}

func refusedFiles() map[string]refusal {
	return map[string]refusal{
		"nothing":      {raw: []byte{}, reason: v1.ReasonKubeconfigMissing, says: "empty"},
		"too large":    {raw: bytes.Repeat([]byte("#"), MaxSize+1), reason: v1.ReasonKubeconfigInvalid, says: "256 KiB"},
		"not YAML":     {raw: []byte("users: [" + secret), reason: v1.ReasonKubeconfigInvalid, says: "parsed"},
		"not a Config": {raw: []byte("kind: Pod\napiVersion: v1\n"), reason: v1.ReasonKubeconfigInvalid, says: "kind Config"},
		"wrong types": {
			raw:    []byte("apiVersion: v1\nkind: Config\nusers:\n- name: u\n  user: " + secret + "\n"),
			reason: v1.ReasonKubeconfigInvalid, says: "parsed",
		},
		"no current context": {
			change: func(f *api.Config, _ *api.Cluster, _ *api.AuthInfo) { f.CurrentContext = "" },
			reason: v1.ReasonKubeconfigInvalid, says: "current-context is not set",
		},
		"unknown context": {
			change: func(f *api.Config, _ *api.Cluster, _ *api.AuthInfo) { f.CurrentContext = "other" },
			reason: v1.ReasonKubeconfigInvalid, says: "current-context",
		},
		"unknown cluster": {
			change: func(f *api.Config, _ *api.Cluster, _ *api.AuthInfo) { f.Contexts["c"].Cluster = "x" },
			reason: v1.ReasonKubeconfigInvalid, says: "cluster of the current context",
		},
		"unknown user": {
			change: func(f *api.Config, _ *api.Cluster, _ *api.AuthInfo) { f.Contexts["c"].AuthInfo = "x" },
			reason: v1.ReasonKubeconfigInvalid, says: "user of the current context",
		},
	}
}

func refusedUsers() map[string]refusal {
	return map[string]refusal{
		"exec": {
			change: func(_ *api.Config, _ *api.Cluster, u *api.AuthInfo) {
				u.Exec = &api.ExecConfig{Command: "sh", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: api.NeverExecInteractiveMode}
			},
			reason: v1.ReasonUnsafeKubeconfig, says: "user.exec",
		},
		"auth provider": {
			change: func(_ *api.Config, _ *api.Cluster, u *api.AuthInfo) {
				u.AuthProvider = &api.AuthProviderConfig{Name: "gcp"}
			},
			reason: v1.ReasonUnsafeKubeconfig, says: "user.auth-provider",
		},
		"token file": {
			change: func(_ *api.Config, _ *api.Cluster, u *api.AuthInfo) { u.TokenFile = "/var/run/token" },
			reason: v1.ReasonUnsafeKubeconfig, says: "user.tokenFile",
		},
		"certificate file": {
			change: func(_ *api.Config, _ *api.Cluster, u *api.AuthInfo) { u.ClientCertificate = "/c" },
			reason: v1.ReasonUnsafeKubeconfig, says: "user.client-certificate ",
		},
		"key file": {
			change: func(_ *api.Config, _ *api.Cluster, u *api.AuthInfo) { u.ClientKey = "/k" },
			reason: v1.ReasonUnsafeKubeconfig, says: "user.client-key ",
		},
		"password": {
			change: func(_ *api.Config, _ *api.Cluster, u *api.AuthInfo) { u.Username, u.Password = "a", secret },
			reason: v1.ReasonUnsafeKubeconfig, says: "user.password",
		},
		"impersonation": {
			change: func(_ *api.Config, _ *api.Cluster, u *api.AuthInfo) { u.Impersonate = "admin" },
			reason: v1.ReasonUnsafeKubeconfig, says: "user.as",
		},
		"impersonated groups": {
			change: func(_ *api.Config, _ *api.Cluster, u *api.AuthInfo) { u.ImpersonateGroups = []string{"system:masters"} },
			reason: v1.ReasonUnsafeKubeconfig, says: "user.as-groups",
		},
	}
}

func refusedClusters() map[string]refusal {
	return map[string]refusal{
		"authority file": {
			change: func(_ *api.Config, c *api.Cluster, _ *api.AuthInfo) { c.CertificateAuthority = "/ca" },
			reason: v1.ReasonUnsafeKubeconfig, says: "cluster.certificate-authority ",
		},
		"proxy": {
			change: func(_ *api.Config, c *api.Cluster, _ *api.AuthInfo) { c.ProxyURL = "http://proxy" },
			reason: v1.ReasonUnsafeKubeconfig, says: "cluster.proxy-url",
		},
		"no verification": {
			change: func(_ *api.Config, c *api.Cluster, _ *api.AuthInfo) { c.InsecureSkipTLSVerify = true },
			reason: v1.ReasonUnsafeKubeconfig, says: "cluster.insecure-skip-tls-verify",
		},
		"http": {
			change: func(_ *api.Config, c *api.Cluster, _ *api.AuthInfo) { c.Server = "http://10.0.0.1" },
			reason: v1.ReasonUnsafeKubeconfig, says: "https://",
		},
		"no server": {
			change: func(_ *api.Config, c *api.Cluster, _ *api.AuthInfo) { c.Server = "" },
			reason: v1.ReasonKubeconfigInvalid, says: "cluster.server",
		},
		"no host": {
			change: func(_ *api.Config, c *api.Cluster, _ *api.AuthInfo) { c.Server = "https://:6443" },
			reason: v1.ReasonKubeconfigInvalid, says: "cluster.server",
		},
		"host without scheme": {
			change: func(_ *api.Config, c *api.Cluster, _ *api.AuthInfo) { c.Server = "10.0.0.1:6443" },
			reason: v1.ReasonKubeconfigInvalid, says: "cluster.server",
		},
		"user in the address": {
			change: func(_ *api.Config, c *api.Cluster, _ *api.AuthInfo) { c.Server = "https://a:" + secret + "@10.0.0.1" },
			reason: v1.ReasonUnsafeKubeconfig, says: "cluster.server",
		},
		"query in the address": {
			change: func(_ *api.Config, c *api.Cluster, _ *api.AuthInfo) { c.Server = "https://10.0.0.1/?a=" + secret },
			reason: v1.ReasonKubeconfigInvalid, says: "cluster.server",
		},
		"authority is no certificate": {
			change: func(_ *api.Config, c *api.Cluster, _ *api.AuthInfo) { c.CertificateAuthorityData = []byte("not PEM") },
			reason: v1.ReasonKubeconfigInvalid, says: "certificate-authority-data",
		},
	}
}

func refusedCredentials(t *testing.T) map[string]refusal {
	t.Helper()
	certificate, _ := pair(t, expiry())
	_, otherKey := pair(t, expiry())
	return map[string]refusal{
		"no credentials": {
			change: func(_ *api.Config, _ *api.Cluster, u *api.AuthInfo) { u.Token = "" },
			reason: v1.ReasonKubeconfigInvalid, says: "no credentials",
		},
		"token with a line break": {
			change: func(_ *api.Config, _ *api.Cluster, u *api.AuthInfo) { u.Token = secret + "\nX-Other: 1" },
			reason: v1.ReasonKubeconfigInvalid, says: "user.token",
		},
		"certificate without key": {
			change: func(_ *api.Config, _ *api.Cluster, u *api.AuthInfo) { u.ClientCertificateData = certificate },
			reason: v1.ReasonKubeconfigInvalid, says: "must both be set",
		},
		"key of another certificate": {
			change: func(_ *api.Config, _ *api.Cluster, u *api.AuthInfo) {
				u.ClientCertificateData, u.ClientKeyData = certificate, otherKey
			},
			reason: v1.ReasonKubeconfigInvalid, says: "matching PEM pair",
		},
	}
}

func TestParseRefuses(t *testing.T) {
	tests := refusedFiles()
	maps.Copy(tests, refusedUsers())
	maps.Copy(tests, refusedClusters())
	maps.Copy(tests, refusedCredentials(t))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			raw := test.raw
			if raw == nil {
				raw = file(t, test.change)
			}
			access, err := Parse(raw)
			var refused *Error
			if !errors.As(err, &refused) {
				t.Fatalf("access %v, error %v", access, err)
			}
			if refused.Reason != test.reason || !strings.Contains(refused.Message, test.says) {
				t.Errorf("%s: %q, want %s with %q", refused.Reason, refused.Message, test.reason, test.says)
			}
			if strings.Contains(fmt.Sprintf("%+v %v", *refused, err), secret) {
				t.Errorf("a secret comes out: %v", err)
			}
		})
	}
}

func TestParseCopiesWhatIsAllowed(t *testing.T) {
	certificate, key := pair(t, expiry())
	var authority []byte
	raw := file(t, func(f *api.Config, c *api.Cluster, u *api.AuthInfo) {
		authority = c.CertificateAuthorityData
		c.TLSServerName = "member"
		c.DisableCompression = true
		u.ClientCertificateData, u.ClientKeyData = certificate, key
		// What another context says is of no interest.
		f.AuthInfos["other"] = &api.AuthInfo{Exec: &api.ExecConfig{
			Command: "sh", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: api.NeverExecInteractiveMode,
		}}
	})
	access, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	want := &rest.Config{
		Host: "https://10.0.0.1:6443/k8s", BearerToken: secret, UserAgent: UserAgent, DisableCompression: true,
		TLSClientConfig: rest.TLSClientConfig{ServerName: "member", CAData: authority, CertData: certificate, KeyData: key},
	}
	if diff := cmp.Diff(want, access.Config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

// TestParseSample checks that the sample of a registration Secret is accepted with a certificate in it.
func TestParseSample(t *testing.T) {
	raw, err := os.ReadFile("../../../../config/samples/membercluster-secret.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sample := &corev1.Secret{}
	if err := yaml.UnmarshalStrict(raw, sample); err != nil {
		t.Fatal(err)
	}
	certificate, _ := pair(t, expiry())
	const placeholder = "cHV0LWl0LWhlcmU="
	given := strings.Replace(sample.StringData["kubeconfig"], placeholder, base64.StdEncoding.EncodeToString(certificate), 1)
	if _, err := Parse([]byte(given)); err != nil {
		t.Errorf("the sample: %v", err)
	}
	if sample.Labels[v1.MemberClusterLabel] != "true" {
		t.Errorf("labels %v do not register a member", sample.Labels)
	}
	if key := v1.RenewedAccountAnnotation; sample.Annotations[key] == "" {
		t.Errorf("without the annotation %s the token is not renewed", key)
	}
}

func TestFingerprint(t *testing.T) {
	certificate, key := pair(t, expiry())
	otherAuthority, _ := pair(t, expiry())
	base := file(t, nil)
	parse := func(raw []byte) *Access {
		t.Helper()
		access, err := Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		return access
	}
	first := parse(base)
	if again := parse(append([]byte("# a comment\n"), base...)); again.Fingerprint != first.Fingerprint {
		t.Error("a comment changes the fingerprint")
	}
	if strings.Contains(first.Fingerprint, secret) {
		t.Error("the fingerprint holds the token")
	}
	seen := map[string]string{first.Fingerprint: "the first"}
	for name, change := range map[string]func(*api.Cluster, *api.AuthInfo){
		"server":      func(c *api.Cluster, _ *api.AuthInfo) { c.Server = "https://10.0.0.2" },
		"server name": func(c *api.Cluster, _ *api.AuthInfo) { c.TLSServerName = "x" },
		"authority":   func(c *api.Cluster, _ *api.AuthInfo) { c.CertificateAuthorityData = otherAuthority },
		"token":       func(_ *api.Cluster, u *api.AuthInfo) { u.Token = "other" },
		"certificate": func(_ *api.Cluster, u *api.AuthInfo) { u.ClientCertificateData, u.ClientKeyData = certificate, key },
	} {
		file, err := clientcmd.Load(base)
		if err != nil {
			t.Fatal(err)
		}
		change(file.Clusters["k"], file.AuthInfos["u"])
		raw, err := clientcmd.Write(*file)
		if err != nil {
			t.Fatal(err)
		}
		fingerprint := parse(raw).Fingerprint
		if other, ok := seen[fingerprint]; ok {
			t.Errorf("%s: the fingerprint is that of %s", name, other)
		}
		seen[fingerprint] = name
	}
}
