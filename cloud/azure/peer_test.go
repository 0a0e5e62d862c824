package azure

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/cloud/fake"
)

// TestPeer lets Microsoft's client for another language drive the fake, which keeps the
// fake honest: what it answers must make sense to who did not write it.
func TestPeer(t *testing.T) {
	t.Parallel()
	dir := installPeer(t)
	s := newStage(t)
	s.world.SetPace(fake.Pace{Taken: 3 * time.Second, Ready: 8 * time.Second})
	s.server.SetPageSize(1)
	// Each request takes a second, so that operations take several.
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.clock.Step(time.Second)
		s.server.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	account := accounts()[0]
	peer := exec.CommandContext(t.Context(), "node", "peer.mjs")
	peer.Dir = dir
	peer.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+authority, "ENDPOINT="+server.URL, "NO_PROXY=127.0.0.1", "TENANT="+account.Tenant,
		"CLIENT_ID="+account.ClientID, "CLIENT_SECRET="+goodPhrase, "SUBSCRIPTION="+account.Subscription, "GROUP="+hubGroup)
	text, err := peer.Output()
	if err != nil {
		t.Fatalf("the peer failed: %v\n%s%s", err, text, complaint(err))
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("the peer said no JSON: %v\n%s", err, text)
	}
	want := map[string]any{
		"disk":        []any{"data", "Succeeded", 8.0, "Premium_LRS", []any{"1"}, true},
		"snapshot":    []any{"Succeeded", true, map[string]any{"made-by": "peer"}, true, "DenyAll"},
		"ready":       100.0,
		"copy":        []any{"westeurope", "CopyStart", true, 100.0, nil},
		"restored":    []any{16.0, true},
		"snapshots":   []any{[]any{"first"}, []any{"second"}},
		"disks":       []any{[]any{"data"}, []any{"restored"}},
		"missing":     "404 ResourceNotFound",
		"otherSource": "409 PropertyChangeNotAllowed",
		"badTag":      "400 InvalidTagNameCharacters",
		"noGroup":     "404 ResourceGroupNotFound",
		"left":        []any{[]any{"second"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the peer saw (-want +got):\n%s", diff)
	}
}

// installPeer installs the client, as its lock file says, in a folder of its own.
func installPeer(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("@azure/arm-compute does not drive the fake: there is no %s; Node.js 20 or newer brings it (https://nodejs.org, or apt-get install nodejs npm)", program)
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "node"))); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	install.Dir = dir
	if text, err := install.CombinedOutput(); err != nil {
		t.Fatalf("installing @azure/arm-compute from the registry: %v\n%s", err, text)
	}
	return dir
}

func complaint(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(exit.Stderr)
	}
	return ""
}

// TestPeerIsPinned looks at the lock file: who installs from it gets it from the
// registry that they use, and exactly what was tried.
func TestPeerIsPinned(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "node", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct {
			Integrity, Resolved string
		} `json:"packages"`
	}
	if err := json.Unmarshal(text, &lock); err != nil || len(lock.Packages) < 2 {
		t.Fatalf("%d packages, %v", len(lock.Packages), err)
	}
	for name, one := range lock.Packages {
		if name != "" && one.Integrity == "" {
			t.Errorf("%s has no integrity", name)
		}
		if one.Resolved != "" && !strings.HasPrefix(one.Resolved, "https://registry.npmjs.org/") {
			t.Errorf("%s is from %s", name, one.Resolved)
		}
	}
}
