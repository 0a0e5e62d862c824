package login_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type fields = map[string]any

// TestLogin logs users in to the proxy, with the arguments that the spoke renders, at a provider on
// this machine.
func TestLogin(t *testing.T) {
	program := filepath.Join(t.TempDir(), "oauth2-proxy")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/oauth2-proxy/oauth2-proxy/v7").CombinedOutput(); err != nil {
		t.Fatalf("building the proxy: %v\n%s", err, out)
	}
	ann := fields{"email": "ann@example.com", "groups": []string{"buyers"}}
	carl := fields{"email": "carl@eu.example.org", "groups": []string{"guests", "Team A"}}
	ungrouped, elsewhere := fields{"email": "dora@example.com"}, fields{"email": "eve@example.net", "groups": []string{"buyers"}}
	tests := map[string]struct {
		rendered string
		admitted map[string]fields
		refused  map[string]fields
	}{
		"no user is admitted": {"ecommerceapp", nil, map[string]fields{"ann": ann, "eve": elsewhere}},
		"domains and groups":  {"ecommerceapp-mysql", map[string]fields{"ann": ann, "carl": carl}, map[string]fields{"dora": ungrouped, "eve": elsewhere}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t)
			shop := p.proxy(t, program, renderedArgs(t, tt.rendered))
			for user, claims := range tt.admitted {
				if status, page := p.visit(t, shop, claims); status != http.StatusOK || page != "the shop" {
					t.Errorf("%s sees %d %q, want the shop", user, status, page)
				}
			}
			for user, claims := range tt.refused {
				if status, page := p.visit(t, shop, claims); status != http.StatusForbidden || page == "the shop" {
					t.Errorf("%s sees %d, want a refusal", user, status)
				}
			}
		})
	}
}

// renderedArgs returns the arguments in a golden file of the spoke that say who may log in.
func renderedArgs(t *testing.T, golden string) []string {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("..", "..", "..", "spoke", "render", "testdata", golden+".golden.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for line := range strings.Lines(string(file)) {
		arg := strings.TrimPrefix(strings.TrimSpace(line), "- ")
		if strings.HasPrefix(arg, "--email-domain=") || strings.HasPrefix(arg, "--allowed-group=") {
			args = append(args, arg)
		}
	}
	if len(args) == 0 {
		t.Fatalf("%s admits without any condition", golden)
	}
	return args
}

// provider is an OpenID Connect provider that takes each visitor for the current user.
type provider struct {
	*httptest.Server
	key  *rsa.PrivateKey
	user fields
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{key: key}
	answer := func(content func() any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(content())
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", answer(func() any {
		return fields{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys"}
	}))
	mux.HandleFunc("/keys", answer(func() any {
		return fields{"keys": []any{fields{
			"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig",
			"n": encode(key.N.Bytes()), "e": encode(big.NewInt(int64(key.E)).Bytes()),
		}}}
	}))
	mux.HandleFunc("/token", answer(func() any {
		return fields{"access_token": "x", "token_type": "Bearer", "expires_in": 3600, "id_token": p.token(t)}
	}))
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		query := url.Values{"code": {"x"}, "state": {r.URL.Query().Get("state")}}
		w.Header().Set("Location", r.URL.Query().Get("redirect_uri")+"?"+query.Encode())
		w.WriteHeader(http.StatusFound)
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// token returns a signed token of the current user.
func (p *provider) token(t *testing.T) string {
	t.Helper()
	claims := fields{"iss": p.URL, "aud": "client", "sub": "user", "email_verified": true, "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(claims, p.user)
	var parts []string
	for _, part := range []fields{{"alg": "RS256", "kid": "1"}, claims} {
		raw, err := json.Marshal(part)
		if err != nil {
			t.Error(err)
		}
		parts = append(parts, encode(raw))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, ".")))
	signature, err := rsa.SignPKCS1v15(rand.Reader, p.key, crypto.SHA256, sum[:])
	if err != nil {
		t.Error(err)
	}
	return strings.Join(append(parts, encode(signature)), ".")
}

// proxy starts the proxy in front of a shop, and returns its address when it serves.
func (p *provider) proxy(t *testing.T, program string, args []string) string {
	t.Helper()
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the shop") }))
	t.Cleanup(shop.Close)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	args = append([]string{
		"--http-address=" + address, "--upstream=" + shop.URL, "--provider=oidc", "--oidc-issuer-url=" + p.URL, "--reverse-proxy=true",
		"--skip-provider-button=true", "--cookie-secure=false", "--redirect-url=http://" + address + "/oauth2/callback",
		"--client-id=client", "--client-secret=secret", "--cookie-secret=" + strings.Repeat("k", 32),
	}, args...)
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	deadline := time.Now().Add(time.Minute)
	for {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = connection.Close()
			return "http://" + address + "/"
		}
		if time.Now().After(deadline) {
			t.Fatalf("the proxy does not serve: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// visit opens the shop as a user with claims, and returns the status and the page.
func (p *provider) visit(t *testing.T, shop string, claims fields) (int, string) {
	t.Helper()
	p.user = claims
	cookies, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shop, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Jar: cookies, Timeout: time.Minute}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(page)
}
