package oauth2proxy_test

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
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

type fields = map[string]any

// host is that of the shop in the golden files that have one.
const host = "shop.example.com"

// TestLogin logs users in to the proxy, with the arguments that the spoke renders, at a provider on
// this machine.
func TestLogin(t *testing.T) {
	program := build(t)
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
			ingress := p.proxy(t, program, render(t, tt.rendered))
			for user, claims := range tt.admitted {
				if status, page := p.visit(t, ingress, claims); status != http.StatusOK || page != "the shop" {
					t.Errorf("%s sees %d %q, want the shop", user, status, page)
				}
			}
			for user, claims := range tt.refused {
				if status, page := p.visit(t, ingress, claims); status != http.StatusForbidden || page == "the shop" {
					t.Errorf("%s sees %d, want a refusal", user, status)
				}
			}
		})
	}
}

// TestForwarded sends headers of a proxy to the login. It believes them only from the networks that are
// rendered, whichever pod of the cluster sends them.
func TestForwarded(t *testing.T) {
	program := build(t)
	trusting := render(t, "ecommerceapp-mysql")
	for i, arg := range trusting.args {
		if strings.HasPrefix(arg, "--trusted-proxy-ip=10.") {
			trusting.args[i] = "--trusted-proxy-ip=127.0.0.0/8"
		}
	}
	for name, tt := range map[string]struct {
		rendered rendered
		believed bool
	}{
		"nobody is trusted":           {render(t, "ecommerceapp"), false},
		"others are trusted":          {render(t, "ecommerceapp-mysql"), false},
		"the sender is a trusted one": {trusting, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t)
			address := p.start(t, program, tt.rendered)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("X-Forwarded-Uri", "/forged")
			response, err := http.DefaultTransport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			to := response.Header.Get("Location")
			if response.StatusCode != http.StatusFound || strings.Contains(to, "forged") != tt.believed {
				t.Errorf("status %d, location %q; the header is to be believed: %t", response.StatusCode, to, tt.believed)
			}
		})
	}
}

// build builds the proxy.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "oauth2-proxy")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/oauth2-proxy/oauth2-proxy/v7").CombinedOutput(); err != nil {
		t.Fatalf("building the proxy: %v\n%s", err, out)
	}
	return program
}

// rendered is the container of the proxy in a golden file of the spoke.
type rendered struct {
	args []string
	// env has the keys of the Secrets that the variables are of, by variable.
	env map[string]string
}

// render reads a golden file of the spoke.
func render(t *testing.T, golden string) rendered {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("..", "..", "..", "spoke", "render", "testdata", golden+".golden.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, container, _ := strings.Cut(string(file), "- args:\n        - --http-address=")
	container, _, found := strings.Cut("- --http-address="+container, "\n        image:")
	if !found {
		t.Fatalf("%s has no login proxy", golden)
	}
	r := rendered{env: map[string]string{}}
	variable := ""
	for line := range strings.Lines(container) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case name == "-" && strings.HasPrefix(value, "--"):
			r.args = append(r.args, value)
		case name == "-" && strings.HasPrefix(value, "name: "):
			variable = strings.TrimPrefix(value, "name: ")
		case name == "key:":
			r.env[variable] = value
		}
	}
	return r
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

// proxy starts the proxy in front of a shop, and returns the shop's Ingress when it serves.
func (p *provider) proxy(t *testing.T, program string, r rendered) *httptest.Server {
	t.Helper()
	address := p.start(t, program, r)
	ingress := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: address})
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}})
	t.Cleanup(ingress.Close)
	return ingress
}

// start starts the proxy in front of a shop, and returns its address when it serves. Everything is as it
// is rendered but the addresses, and the issuer's host that never resolves: the provider is there.
func (p *provider) start(t *testing.T, program string, r rendered) string {
	t.Helper()
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the shop") }))
	t.Cleanup(shop.Close)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	args := slices.Clone(r.args)
	for i, arg := range args {
		switch name, _, _ := strings.Cut(arg, "="); name {
		case "--http-address":
			args[i] = name + "=" + address
		case "--upstream":
			args[i] = name + "=" + shop.URL
		default:
			args[i] = strings.Replace(arg, "https://login.invalid", p.URL, 1)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = t.Output()
	secret := map[string]string{"client-id": "client", "client-secret": "secret", "issuer-url": p.URL, "cookie-secret": strings.Repeat("k", 32)}
	for name, key := range r.env {
		cmd.Env = append(cmd.Env, name+"="+secret[key])
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	awaitServer(t, address)
	return address
}

func awaitServer(t *testing.T, address string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = connection.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the proxy does not serve: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// visit opens the shop as a user with claims, and returns the status and the page.
func (p *provider) visit(t *testing.T, ingress *httptest.Server, claims fields) (int, string) {
	t.Helper()
	p.user = claims
	cookies, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := ingress.Client()
	client.Jar, client.Timeout = cookies, time.Minute // It connects to the Ingress for all hosts of example.com.
	response, err := client.Do(request)
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
