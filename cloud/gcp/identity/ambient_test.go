package identity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// ambience sets up an environment with an identity of its own, and returns a function that
// reports whether it was used.
func ambience(t *testing.T, g *google) (used func() bool) {
	t.Helper()
	var mu sync.Mutex
	asked := false
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = true
		w.Header().Set("Metadata-Flavor", "Google")
		if strings.HasSuffix(r.URL.Path, "/email") {
			_, _ = io.WriteString(w, "machine@shop-prod.iam.gserviceaccount.com")
			return
		}
		token, _, err := g.connectQuietly().Get(r.Context())
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprintf(w, `{"access_token": %q, "expires_in": 3600, "token_type": "Bearer"}`, token)
	}))
	t.Cleanup(metadata.Close)
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(metadata.URL, "http://"))
	t.Setenv(environmentFile, "")
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		return asked
	}
}

// connectQuietly makes credentials whose requests are not counted.
func (g *google) connectQuietly() *Credentials {
	c, err := keyCredentials(g.key, g.url, &http.Client{})
	if err != nil {
		panic(err)
	}
	return c
}

func TestAmbientMachine(t *testing.T) {
	g := newGoogle(t)
	used := ambience(t, g)
	c := g.connect(t, g.config(v1.CredentialsAmbient))
	if used() {
		t.Error("connecting asked the metadata server")
	}
	g.works(t, c)
	if sent := g.requests(); !used() || len(sent) != 1 || !strings.Contains(sent[0], "/service-accounts/default/token") {
		t.Errorf("requests %v, want one for a token over our transport", sent)
	}
	if name := c.Name(t.Context()); name != "machine@shop-prod.iam.gserviceaccount.com" {
		t.Errorf("name %q", name)
	}
}

func TestAmbientFile(t *testing.T) {
	g := newGoogle(t)
	used := ambience(t, g)
	path := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(path, g.key, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(environmentFile, path)
	c := g.connect(t, g.config(v1.CredentialsAmbient))
	g.works(t, c)
	if used() || len(g.requests()) != 1 || c.Name(t.Context()) != email {
		t.Errorf("metadata server used: %t, %d requests, name %q", used(), len(g.requests()), c.Name(t.Context()))
	}
	t.Setenv(environmentFile, path+".none")
	_, _, err := g.connectAmbient(t).Get(t.Context())
	var e *Error
	if !errors.As(err, &e) || e.Class != cloud.ClassAuthExpired {
		t.Errorf("without the file: %v", err)
	}
}

func (g *google) connectAmbient(t *testing.T) *Credentials {
	t.Helper()
	c, err := Connect(g.config(v1.CredentialsAmbient), g.url, g)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEnvironmentIsIgnored checks that the identity of the machine is used only if the account says so.
func TestEnvironmentIsIgnored(t *testing.T) {
	g := newGoogle(t)
	used := ambience(t, g)
	path := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(path, bytes.ReplaceAll(g.key, []byte(g.url+"/token"), []byte(elsewhere)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(environmentFile, path)
	g.server.AddSubject("//iam.googleapis.com/"+provider, "hub-token", project)
	for _, kind := range []v1.CredentialsType{v1.CredentialsSecret, v1.CredentialsFederated} {
		config := g.config(kind)
		config.Token = func(context.Context, string) (string, error) { return "hub-token", nil }
		c, err := Connect(config, g.url, g)
		if err != nil {
			t.Fatal(err)
		}
		g.works(t, c)
	}
	for _, sent := range g.requests() {
		if strings.HasPrefix(sent, elsewhere) {
			t.Errorf("the environment's token service was asked: %s", sent)
		}
	}
	if used() {
		t.Error("the metadata server was asked")
	}
}
