package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/gce"
)

const (
	project   = "shop-prod"
	email     = "hub@shop-prod.iam.gserviceaccount.com"
	provider  = "projects/4711/locations/global/workloadIdentityPools/fleet/providers/hub-oidc"
	elsewhere = "http://127.0.0.1:1/token"
)

// google is a fake of Google, and all that is sent to it.
type google struct {
	server *gce.Server
	url    string
	// key is the key file of the service account, secret must not appear in errors.
	key, secret []byte

	mu    sync.Mutex
	sent  []string
	clock *testclock.FakeClock
}

func newGoogle(t *testing.T) *google {
	t.Helper()
	g := &google{clock: testclock.NewFakeClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))}
	g.server = gce.New(fake.NewCloud(g.clock), gce.Options{Clock: g.clock})
	http := httptest.NewServer(g.server)
	t.Cleanup(http.Close)
	g.url = http.URL
	key, public, err := gce.NewKey(email, project, g.url+"/token")
	if err != nil {
		t.Fatal(err)
	}
	g.server.AddServiceAccount(email, public, project)
	g.key = key
	var file map[string]string
	if err := json.Unmarshal(key, &file); err != nil {
		t.Fatal(err)
	}
	g.secret = []byte(strings.Split(file["private_key"], "\n")[1])
	return g
}

// RoundTrip sends a request and remembers it.
func (g *google) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(text)
		r.Body = io.NopCloser(bytes.NewReader(text))
	}
	g.mu.Lock()
	g.sent = append(g.sent, r.URL.String()+" "+body)
	g.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

func (g *google) requests() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.sent...)
}

func (g *google) config(kind v1.CredentialsType) cloud.Config {
	return cloud.Config{
		Account: "google", Clock: g.clock, Secret: map[string][]byte{keyField: g.key},
		Spec: v1.CloudAccountSpec{
			Provider: v1.ProviderGCP, Credentials: v1.CloudCredentials{Type: kind},
			GCP: &v1.GCPAccount{Project: project, WorkloadIdentityProvider: provider},
		},
	}
}

// works fails unless the API takes the token.
func (g *google) works(t *testing.T, c *Credentials) {
	t.Helper()
	token, _, err := c.Get(t.Context())
	if err != nil {
		t.Fatalf("getting a token: %v", err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/compute/v1/projects/"+project, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the API answers %d to the token", response.StatusCode)
	}
}

func (g *google) connect(t *testing.T, config cloud.Config) *Credentials {
	t.Helper()
	c, err := Connect(config, g.url, g)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(g.requests()); n != 0 {
		t.Fatalf("connecting sent %d requests", n)
	}
	return c
}

func TestSecret(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	c := g.connect(t, g.config(v1.CredentialsSecret))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, _, err := c.Get(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	g.works(t, c)
	if sent := g.requests(); len(sent) != 1 || !strings.HasPrefix(sent[0], g.url+"/token ") {
		t.Errorf("%d requests, want one for a token", len(sent))
	}
	token, fresh, err := c.Get(t.Context())
	c.Drop(t.Context(), "another")
	if _, again, _ := c.Get(t.Context()); fresh || again || err != nil {
		t.Errorf("a token that is good is asked for again, %v", err)
	}
	c.Drop(t.Context(), token)
	if _, fresh, err := c.Get(t.Context()); !fresh || err != nil {
		t.Errorf("a token that was dropped is kept, %v", err)
	}
	if name := c.Name(t.Context()); name != email {
		t.Errorf("name %q", name)
	}
}

// TestUntrustedKeys checks that a user who can write the Secret cannot reach the hub with it.
func TestUntrustedKeys(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	edit := func(field, value string) string {
		var file map[string]any
		if err := json.Unmarshal(g.key, &file); err != nil {
			t.Fatal(err)
		}
		file[field] = value
		text, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const google = "https://compute.googleapis.com"
	tests := map[string]struct {
		key, endpoint string
		good          bool
	}{
		"Google's own":          {edit("token_uri", "https://oauth2.googleapis.com/token"), google, true},
		"no token_uri":          {edit("token_uri", ""), google, true},
		"loopback":              {edit("token_uri", g.url+"/token"), g.url, true},
		"loopback for Google":   {edit("token_uri", g.url+"/token"), google, false},
		"http":                  {edit("token_uri", "http://oauth2.googleapis.com/token"), google, false},
		"http elsewhere":        {edit("token_uri", "http://169.254.169.254/token"), g.url, false},
		"elsewhere":             {edit("token_uri", "https://evil.example/token"), google, false},
		"looks like Google":     {edit("token_uri", "https://evilgoogleapis.com/token"), google, false},
		"another port":          {edit("token_uri", "https://oauth2.googleapis.com:8443/token"), google, false},
		"user":                  {edit("token_uri", "https://a:b@oauth2.googleapis.com/token"), google, false},
		"file":                  {edit("token_uri", "file:///etc/passwd"), google, false},
		"universe":              {edit("universe_domain", "evil.example"), google, false},
		"no e-mail":             {edit("client_email", ""), google, false},
		"no key":                {edit("private_key", ""), google, false},
		"empty":                 {"", google, false},
		"not JSON":              {string(g.secret), google, false},
		"a person's":            {edit("type", "authorized_user"), google, false},
		"impersonation":         {edit("type", "impersonated_service_account"), google, false},
		"a program to run":      {`{"type": "external_account", "credential_source": {"executable": {"command": "/bin/sh"}}}`, google, false},
		"a file to read":        {`{"type": "external_account", "credential_source": {"file": "/var/run/secrets/token"}}`, google, false},
		"a type of another kid": {`{"type": ["service_account"]}`, google, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := g.config(v1.CredentialsSecret)
			config.Secret = map[string][]byte{keyField: []byte(tt.key)}
			_, err := Connect(config, tt.endpoint, g)
			if (err == nil) != tt.good {
				t.Fatalf("error %v, want none: %t", err, tt.good)
			}
			if err != nil && (!strings.Contains(err.Error(), keyField) || strings.Contains(err.Error(), string(g.secret))) {
				t.Errorf("the error does not name the key of the Secret, or contains its value: %v", err)
			}
		})
	}
	t.Cleanup(func() {
		if n := len(g.requests()); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

func TestUnusableKey(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	config := g.config(v1.CredentialsSecret)
	config.Secret = map[string][]byte{keyField: fmt.Appendf(nil, `{"type": "service_account", "client_email": %q, "private_key": "hunter2"}`, email)}
	_, _, err := g.connect(t, config).Get(t.Context())
	var e *Error
	if !errors.As(err, &e) || e.Class != cloud.ClassAuthExpired || strings.Contains(fmt.Sprintf("%v %+v", err, e), "hunter2") {
		t.Errorf("error %v", err)
	}
}

func TestFederated(t *testing.T) {
	t.Parallel()
	audience := "//iam.googleapis.com/" + provider
	for name, account := range map[string]string{"itself": "", "acting as a service account": "backup@shop-prod.iam.gserviceaccount.com"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGoogle(t)
			direct := []string{project}
			if account != "" {
				g.server.AddServiceAccount(account, nil, project)
				direct = nil
			}
			g.server.AddSubject(audience, "hub-token", direct...)
			config := g.config(v1.CredentialsFederated)
			config.Spec.GCP.ServiceAccount = account
			asked := ""
			config.Token = func(_ context.Context, audience string) (string, error) { asked = audience; return "hub-token", nil }
			c := g.connect(t, config)
			g.works(t, c)
			if asked != audience {
				t.Errorf("the hub's token is for %q, want %q", asked, audience)
			}
			want := []string{g.url + "/v1/token"}
			if account != "" {
				want = append(want, g.url+"/v1/projects/-/serviceAccounts/"+account+":generateAccessToken")
			}
			var sent []string
			for _, request := range g.requests() {
				sent = append(sent, strings.Fields(request)[0])
			}
			if diff := cmp.Diff(want, sent); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			renewed(t, c)
			if name := c.Name(t.Context()); name != orElse(account, "principal of "+provider) {
				t.Errorf("name %q", name)
			}
		})
	}
}

// renewed fails unless a token that is dropped makes place for another.
func renewed(t *testing.T, c *Credentials) {
	t.Helper()
	old, _, err := c.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Drop(t.Context(), old)
	if again, fresh, err := c.Get(t.Context()); again == old || !fresh || err != nil {
		t.Errorf("a token that was dropped is kept: %t, %v", again == old, err)
	}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func TestFederatedGoogle(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	config := g.config(v1.CredentialsFederated)
	config.Token = func(context.Context, string) (string, error) { return "hub-token", nil }
	asked := ""
	c, err := Connect(config, "https://compute-private.p.googleapis.com", RoundTripper(func(r *http.Request) (*http.Response, error) {
		asked = r.URL.String()
		return nil, errors.New("no way there")
	}))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = c.Get(t.Context())
	var e *Error
	if !errors.As(err, &e) || e.Class != cloud.ClassTransient || asked != "https://sts.googleapis.com/v1/token" {
		t.Errorf("asked %q, %v; tokens come from Google whatever the endpoint", asked, err)
	}
}

func TestConnectRefuses(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	token := func(context.Context, string) (string, error) { return "", nil }
	tests := map[string]struct {
		change func(*cloud.Config)
		field  string
	}{
		"no type":         {func(c *cloud.Config) { c.Spec.Credentials.Type = "" }, "spec.credentials.type"},
		"no provider":     {func(c *cloud.Config) { c.Spec.GCP.WorkloadIdentityProvider = "" }, "spec.gcp.workloadIdentityProvider"},
		"provider's form": {func(c *cloud.Config) { c.Spec.GCP.WorkloadIdentityProvider = provider + "/../x" }, "spec.gcp.workloadIdentityProvider"},
		"service account": {func(c *cloud.Config) { c.Spec.GCP.ServiceAccount = "a/b@c.gserviceaccount.com" }, "spec.gcp.serviceAccount"},
		"no token source": {func(c *cloud.Config) { c.Token = nil }, "spec.credentials.type"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := g.config(v1.CredentialsFederated)
			config.Token = token
			tt.change(&config)
			if _, err := Connect(config, g.url, g); err == nil || !strings.Contains(err.Error(), tt.field) {
				t.Errorf("error %v, want one that names %s", err, tt.field)
			}
		})
	}
}
