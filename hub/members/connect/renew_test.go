package connect

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/connect/kubeconfig"
	"github.com/shopfleet/shopfleet/hub/members/connect/transport"
)

// issuer is an API server that issues tokens.
type issuer struct {
	// answer is the status of a token request, and accept that of a probe with the new token.
	answer, accept int
	uid            string
	asked          []string
	life           int64
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.asked = append(i.asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
	w.Header().Set("Content-Type", "application/json")
	code := i.accept
	if r.Method == http.MethodPost {
		code = i.answer
	}
	switch {
	case code >= http.StatusBadRequest:
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d}`, code)
	case r.Method == http.MethodPost:
		i.life = lifeIn(r)
		w.WriteHeader(code)
		_, _ = w.Write([]byte(`{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","status":{"token":"new"}}`))
	default:
		_, _ = fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, i.uid)
	}
}

// lifeIn returns the requested life of a token, in seconds.
func lifeIn(r *http.Request) int64 {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return 0
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if request, ok := object.(*authenticationv1.TokenRequest); ok && err == nil {
		return *request.Spec.ExpirationSeconds
	}
	return 0
}

// connect returns a connection to the issuer with a token that lives for 2000 s, and its
// kubeconfig.
func (i *issuer) connect(t *testing.T) (*Connection, []byte) {
	t.Helper()
	server := httptest.NewUnstartedServer(i)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	claims := `{"iat": 1000, "exp": 3000, "sub": "system:serviceaccount:shopfleet-system:shopfleet-hub"}`
	file := api.NewConfig()
	file.CurrentContext = "c"
	file.Clusters["c"] = &api.Cluster{
		Server: server.URL, TLSServerName: "example.com",
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	file.AuthInfos["c"] = &api.AuthInfo{Token: "old." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".x"}
	file.Contexts["c"] = &api.Context{Cluster: "c", AuthInfo: "c"}
	raw, err := clientcmd.Write(*file)
	if err != nil {
		t.Fatal(err)
	}
	access, err := kubeconfig.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	settings := &Settings{Clock: clock.RealClock{}, Logger: logr.Discard(), Timeouts: Timeouts{}.WithDefaults()}
	opened, err := transport.Open(access.Config, settings.Timeouts.transport(), settings.Limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return &Connection{Access: access, settings: settings, transport: opened}, raw
}

func TestRenew(t *testing.T) {
	i := &issuer{answer: http.StatusCreated, accept: http.StatusOK, uid: "u"}
	c, raw := i.connect(t)
	renewed, failure := c.Renew(t.Context(), raw, "u")
	if failure != nil {
		t.Fatalf("failure %+v", failure)
	}
	access, err := kubeconfig.Parse(renewed)
	if err != nil {
		t.Fatal(err)
	}
	if access.Config.BearerToken != "new" || access.Config.Host != c.Access.Config.Host {
		t.Errorf("token %q for %s", access.Config.BearerToken, access.Config.Host)
	}
	if i.life != 2000 {
		t.Errorf("requested a token for %d s, want the life of the old one", i.life)
	}
	want := []string{
		"POST /api/v1/namespaces/shopfleet-system/serviceaccounts/shopfleet-hub/token Bearer " + c.Access.Config.BearerToken,
		"GET /api/v1/namespaces/kube-system Bearer new",
	}
	if diff := cmp.Diff(want, slices.Compact(i.asked)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestRenewFails checks that a token that the same cluster does not accept is not returned.
func TestRenewFails(t *testing.T) {
	const denied = "the cluster denies the hub a token for ServiceAccount shopfleet-system/shopfleet-hub"
	for name, tt := range map[string]struct {
		issuer          *issuer
		reason, message string
	}{
		"denied":            {&issuer{answer: http.StatusForbidden}, v1.ReasonRenewalDenied, denied},
		"error":             {&issuer{answer: http.StatusInternalServerError}, v1.ReasonRenewalFailed, "the cluster answers with an error"},
		"no account":        {&issuer{answer: http.StatusNotFound}, v1.ReasonRenewalFailed, "the cluster has no ServiceAccount shopfleet-system/shopfleet-hub"},
		"rejected":          {&issuer{answer: http.StatusCreated, accept: http.StatusUnauthorized}, v1.ReasonRenewalFailed, "the cluster rejects the credentials of the kubeconfig"},
		"by another server": {&issuer{answer: http.StatusCreated, accept: http.StatusOK, uid: "other"}, v1.ReasonRenewalFailed, "the server of the kubeconfig is another cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			c, raw := tt.issuer.connect(t)
			renewed, failure := c.Renew(t.Context(), raw, "u")
			if renewed != nil || failure == nil || failure.Reason != tt.reason || failure.Message != tt.message {
				t.Errorf("renewed %t, failure %+v, want %s: %s", renewed != nil, failure, tt.reason, tt.message)
			}
		})
	}
}
