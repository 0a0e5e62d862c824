package azure

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
)

// assertion returns a token of the hub for an audience.
func assertion(audience string) string {
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return encode(`{"alg":"RS256"}`) + "." + encode(fmt.Sprintf(`{"aud":[%q],"sub":%q}`, audience, subject)) + "." + encode("signature")
}

// misleading points everything in the environment elsewhere.
func misleading(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID"} {
		t.Setenv(name, "99999999-0000-4000-8000-000000000000")
	}
	t.Setenv("AZURE_AUTHORITY_HOST", "https://elsewhere.invalid/")
	t.Setenv("AZURE_REGIONAL_AUTHORITY_NAME", "elsewhere")
	t.Setenv("MSAL_FORCE_REGION", "elsewhere")
	t.Setenv("AZURE_FEDERATED_TOKEN_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("IDENTITY_ENDPOINT", "http://elsewhere.invalid/")
	t.Setenv("IDENTITY_HEADER", "none")
}

func TestSecretIgnoresTheEnvironment(t *testing.T) {
	misleading(t)
	e := newTestEnv(t)
	session := e.connect(t, nil)
	got, err := session.Access.Identity(t.Context())
	if err != nil {
		t.Fatalf("identity: %v", err)
	}
	if want := (cloud.Identity{Name: accounts()[0].ClientID, Account: accounts()[0].Subscription}); got != want {
		t.Errorf("identity %+v, want %+v", got, want)
	}
	calls := e.script.Calls()
	if len(calls) != 2 || !strings.HasPrefix(calls[0].Request, "POST /"+accounts()[0].Tenant+"/oauth2/v2.0/token\n") {
		t.Errorf("%d requests, want one for a token and one: %v", len(calls), calls)
	}
}

func TestFederatedExchangesTheHubsToken(t *testing.T) {
	misleading(t)
	e := newTestEnvAt(t, documented(t), clock.RealClock{}.Now())
	var asked []string
	federated := func(c *cloud.Config) {
		c.Spec.Credentials.Type, c.Secret = v1.CredentialsFederated, nil
		c.Token = func(_ context.Context, audience string) (string, error) {
			asked = append(asked, audience)
			return assertion(audience), nil
		}
	}
	session := e.connect(t, federated)
	for range 3 {
		if _, err := session.Access.Identity(t.Context()); err != nil {
			t.Fatalf("identity: %v", err)
		}
	}
	if len(asked) != 1 || asked[0] != "api://AzureADTokenExchange" {
		t.Errorf("asked for tokens for %q, want one for api://AzureADTokenExchange", asked)
	}
	e.clock.Step(56 * time.Minute)
	if _, err := session.Access.Identity(t.Context()); err != nil || len(asked) != 2 {
		t.Errorf("five minutes before its end a token is replaced: asked %d times, %v", len(asked), err)
	}

	errBoom := errors.New("no token for you")
	session = e.connect(t, func(c *cloud.Config) {
		federated(c)
		c.Token = func(context.Context, string) (string, error) { return "", errBoom }
	})
	_, err := session.Snapshots.EnsureSnapshot(t.Context(), cloud.SnapshotSpec{Name: "s", MaySend: true, Source: e.disk("d", gib)})
	if !errors.Is(err, errBoom) || cloud.ClassOf(err) != cloud.ClassTransient {
		t.Errorf("error %v of class %q, want the source's, %q", err, cloud.ClassOf(err), cloud.ClassTransient)
	}
}

// TestAmbient lets the pod have a workload identity. Only then the environment counts.
func TestAmbient(t *testing.T) {
	e := newTestEnv(t)
	secure := httptest.NewTLSServer(e.server)
	t.Cleanup(secure.Close)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(assertion("api://AzureADTokenExchange")), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AZURE_FEDERATED_TOKEN_FILE", file)
	t.Setenv("AZURE_TENANT_ID", accounts()[0].Tenant)
	t.Setenv("AZURE_CLIENT_ID", accounts()[0].ClientID)
	ambient := func(c *cloud.Config) {
		c.Endpoint, c.HTTP = secure.URL, secure.Client()
		c.Spec.Credentials.Type, c.Secret = v1.CredentialsAmbient, nil
		c.Spec.Azure.TenantID, c.Spec.Azure.ClientID = "", ""
	}
	session := e.connect(t, ambient)
	got, err := session.Access.Identity(t.Context())
	if err != nil {
		t.Fatalf("identity: %v", err)
	}
	if want := (cloud.Identity{Name: accounts()[0].ClientID, Account: accounts()[0].Subscription}); got != want {
		t.Errorf("identity %+v, want %+v", got, want)
	}
	// The same credentials of an application would return the refused token again.
	e.server.Expire()
	if _, err := session.Access.Identity(t.Context()); err != nil {
		t.Errorf("after the token expired: %v", err)
	}

	t.Setenv("AZURE_CLIENT_ID", "99999999-0000-4000-8000-000000000000")
	_, err = e.connect(t, ambient).Access.Identity(t.Context())
	if cloud.ClassOf(err) != cloud.ClassAuthExpired || !strings.Contains(err.Error(), "AADSTS700016") || strings.ContainsAny(err.Error(), "\n{") {
		t.Errorf("class %q, want %q with its number in one line: %v", cloud.ClassOf(err), cloud.ClassAuthExpired, err)
	}
}

// TestAmbientManaged asks the machine's metadata for a token, which here answers as the
// service of the platform does.
func TestAmbientManaged(t *testing.T) {
	e := newTestEnv(t)
	t.Setenv("AZURE_FEDERATED_TOKEN_FILE", "")
	var asked []string
	session := e.connect(t, func(c *cloud.Config) {
		c.Spec.Credentials.Type, c.Secret = v1.CredentialsAmbient, nil
		c.HTTP = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.URL.Host+r.URL.Path+" "+r.URL.Query().Get("client_id"))
			answer := httptest.NewRecorder()
			answer.WriteHeader(http.StatusBadRequest)
			_, err := answer.WriteString(`{"error":"invalid_request","error_description":"Identity not found"}`)
			return answer.Result(), err
		})}
	})
	_, err := session.Access.Identity(t.Context())
	if cloud.ClassOf(err) != cloud.ClassAuthExpired {
		t.Errorf("class %q of %v, want %q", cloud.ClassOf(err), err, cloud.ClassAuthExpired)
	}
	want := "169.254.169.254/metadata/identity/oauth2/token " + accounts()[0].ClientID
	if len(asked) == 0 || asked[len(asked)-1] != want {
		t.Errorf("asked %q, want %q through the injected client", asked, want)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func TestTokenRefusals(t *testing.T) {
	t.Parallel()
	json := http.Header{"Content-Type": {"application/json"}}
	tests := map[string]struct {
		fault faults.Fault
		class cloud.Class
		code  string
		after time.Duration
	}{
		"the secret is wrong and repeated": {faults.Fault{Kind: faults.Refuse, Answer: faults.Answer{
			Status: 401, Header: json, Body: `{"error":"invalid_client","error_codes":[7000215],"error_description":"AADSTS7000215: Invalid client secret ` + goodPhrase + ` is provided. Trace ID: 1"}`,
		}}, cloud.ClassAuthExpired, "AADSTS7000215", 0},
		"throttled": {faults.Fault{Kind: faults.Refuse, Answer: faults.Answer{
			Status: 429, Header: http.Header{"Retry-After": {"17"}}, Body: `{"error":"temporarily_unavailable"}`,
		}}, cloud.ClassThrottled, "temporarily_unavailable", 17 * time.Second},
		"out of order":          {faults.Fault{Kind: faults.Refuse, Answer: faults.Answer{Status: 503, Body: "down " + goodPhrase}}, cloud.ClassTransient, "NoToken", 0},
		"a page":                {faults.Fault{Kind: faults.Garble}, cloud.ClassTransient, "NoToken", 0},
		"the connection is cut": {faults.Fault{Kind: faults.DropAfter}, cloud.ClassTransient, "NoToken", 0},
		"half an answer":        {faults.Fault{Kind: faults.Truncate}, cloud.ClassTransient, "NoToken", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestEnv(t)
			tt.fault.Op = faults.OpOther
			s.script.Add(tt.fault)
			// Nothing was sent but the question for a token, so nothing may have happened.
			_, err := s.connect(t, nil).Volumes.DescribeVolume(t.Context(), s.disk("d", gib))
			var e *cloud.Error
			if !errors.As(err, &e) || e.Class != tt.class || e.Code != tt.code || e.RetryAfter != tt.after || e.Op != "DescribeVolume" {
				t.Fatalf("error %+v, want class %q, code %q after %s", err, tt.class, tt.code, tt.after)
			}
			if strings.Contains(err.Error(), goodPhrase) {
				t.Error("the error contains the secret")
			}
			if n := len(s.script.Calls()); n != 1 {
				t.Errorf("%d requests, want one", n)
			}
		})
	}
}

func TestExpiredTokenIsReplacedOnce(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	session, volume := e.connect(t, nil), e.disk("d", gib)
	if _, err := session.Volumes.DescribeVolume(t.Context(), volume); err != nil {
		t.Fatal(err)
	}
	e.server.Expire()
	before := len(e.script.Calls())
	spec := cloud.SnapshotSpec{Name: "s", MaySend: true, Source: volume, Tags: cloud.Tags{cloud.TagHub: "h"}}
	if _, err := session.Snapshots.EnsureSnapshot(t.Context(), spec); err != nil {
		t.Fatalf("after the token expired: %v", err)
	}
	// Look, token, look, disk, create.
	if sent := len(e.script.Calls()) - before; sent != 5 {
		t.Errorf("%d requests, want five", sent)
	}
	e.script.Add(faults.Fault{Op: faults.OpDescribeVolume, Times: -1, Kind: faults.Refuse, Answer: refusalOf(cloud.ClassAuthExpired, faults.OpDescribeVolume, 0)})
	before = len(e.script.Calls())
	if _, err := session.Volumes.DescribeVolume(t.Context(), volume); cloud.ClassOf(err) != cloud.ClassAuthExpired {
		t.Errorf("class %q of %v, want %q", cloud.ClassOf(err), err, cloud.ClassAuthExpired)
	}
	if sent := len(e.script.Calls()) - before; sent != 3 {
		t.Errorf("%d requests, want three: refused, token, refused", sent)
	}
}

func TestConnectNamesTheField(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*cloud.Config)
		want   string
	}{
		"no account":      {func(c *cloud.Config) { c.Spec.Azure = nil }, "spec.azure"},
		"no subscription": {func(c *cloud.Config) { c.Spec.Azure.SubscriptionID = "" }, "spec.azure.subscriptionID"},
		"no group":        {func(c *cloud.Config) { c.Spec.Azure.ResourceGroups = nil }, "spec.azure.resourceGroups"},
		"no group in the region": {func(c *cloud.Config) {
			c.Spec.Azure.ResourceGroups = map[string]v1.ResourceGroup{"westeurope": "eu", "southeastasia": "asia"}
		}, "spec.azure.resourceGroups must have an entry for eastus"},
		"no tenant":         {func(c *cloud.Config) { c.Spec.Azure.TenantID = "" }, "spec.azure.tenantID"},
		"no client":         {func(c *cloud.Config) { c.Spec.Azure.ClientID = "" }, "spec.azure.clientID"},
		"no key":            {func(c *cloud.Config) { c.Secret = map[string][]byte{"password": []byte("x")} }, "clientSecret"},
		"no source":         {func(c *cloud.Config) { c.Spec.Credentials.Type = v1.CredentialsFederated }, "spec.credentials.type"},
		"no type":           {func(c *cloud.Config) { c.Spec.Credentials.Type = "" }, "spec.credentials.type"},
		"no region":         {func(c *cloud.Config) { c.Region = "" }, "region"},
		"no client of HTTP": {func(c *cloud.Config) { c.HTTP = nil }, "HTTP"},
		"http elsewhere":    {func(c *cloud.Config) { c.Endpoint = "http://management.example.com" }, "spec.endpoint"},
		"no URL":            {func(c *cloud.Config) { c.Endpoint = "management" }, "spec.endpoint"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			config := e.config()
			tt.change(&config)
			_, err := Connect(t.Context(), config)
			if cloud.ClassOf(err) != cloud.ClassInvalid || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("class %q of %v, want %q naming %q", cloud.ClassOf(err), err, cloud.ClassInvalid, tt.want)
			}
			if n := len(e.script.Calls()); n != 0 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}

func TestTokenGoesNowhereElse(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	session := e.connect(t, nil)
	e.script.Add(faults.Fault{Op: faults.OpListSnapshots, Kind: faults.Refuse, Answer: faults.Answer{
		Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"value":[],"nextLink":"https://elsewhere.invalid/next"}`,
	}})
	var last error
	for _, err := range session.Snapshots.ListSnapshots(t.Context(), cloud.Owner{Hub: "h"}) {
		last = err
	}
	if cloud.ClassOf(last) != cloud.ClassInvalid || codeOf(last) != "ForeignHost" {
		t.Errorf("error %v, want one that refuses the host", last)
	}
	if n := e.script.Count(faults.OpAny); n != 2 {
		t.Errorf("%d requests, want a token and a page", n)
	}
}

// TestRedirectsAreNotFollowed sends the question for a token elsewhere, in a way that
// would carry the secret along.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	var hosts []string
	session := e.connect(t, func(c *cloud.Config) {
		c.HTTP = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			hosts = append(hosts, r.URL.Host)
			answer := httptest.NewRecorder()
			http.Redirect(answer, r, "https://elsewhere.invalid/", http.StatusTemporaryRedirect)
			return answer.Result(), nil
		})}
	})
	_, err := session.Access.Identity(t.Context())
	if cloud.ClassOf(err) != cloud.ClassTransient {
		t.Errorf("%v, want class %q", err, cloud.ClassTransient)
	}
	if len(hosts) != 1 || hosts[0] == "elsewhere.invalid" {
		t.Errorf("asked %q, want the endpoint alone", hosts)
	}
}
