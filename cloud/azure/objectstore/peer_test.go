package objectstore

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPeers brings in what Microsoft wrote: a client for another language, which drives
// the fake and keeps it honest, and an emulator, which the adapter has to get on with.
func TestPeers(t *testing.T) {
	t.Parallel()
	dir := installPeers(t)
	t.Run("client", func(t *testing.T) { t.Parallel(); clientDrivesTheFake(t, dir) })
	t.Run("emulator", func(t *testing.T) { t.Parallel(); contractOfTheEmulator(t, dir) })
}

// installPeers installs them, as their lock file says, in a folder of its own.
func installPeers(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("azurite and @azure/storage-blob do not take part: there is no %s; Node.js 20 or newer brings it (https://nodejs.org, or apt-get install nodejs npm)", program)
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "node"))); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	install.Dir = dir
	if text, err := install.CombinedOutput(); err != nil {
		t.Fatalf("installing azurite and @azure/storage-blob from the registry: %v\n%s", err, text)
	}
	return dir
}

func clientDrivesTheFake(t *testing.T, dir string) {
	t.Helper()
	s := newTestEnv(t)
	server := httptest.NewTLSServer(s.server)
	t.Cleanup(server.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	peer := exec.CommandContext(t.Context(), "node", "peer.mjs")
	peer.Dir = dir
	peer.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+authority, "NO_PROXY=127.0.0.1", "ENDPOINT="+server.URL, "ACCOUNT="+storage, "CONTAINER="+dumps,
		"TENANT="+tenant, "CLIENT_ID="+client, "CLIENT_SECRET="+goodPhrase, "NOW="+s.clock.Now().Format(time.RFC3339))
	text, err := peer.Output()
	if err != nil {
		said := ""
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			said = string(exit.Stderr)
		}
		t.Fatalf("the peer failed: %v\n%s%s", err, text, said)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("the peer said no JSON: %v\n%s", err, text)
	}
	const denied, over = "403 AuthorizationPermissionMismatch", "403 UnauthorizedBlobOverwrite"
	const unsigned = "403 AuthenticationFailed"
	block := func(name string, bytes int) any { return []any{name, float64(bytes), "BlockBlob"} }
	want := map[string]any{
		"put": 201.0, "again": "409 BlobAlreadyExists", "content": "first",
		"signed": []any{
			[]any{201.0, over, "a/by-2020-12-06"}, []any{201.0, over, "a/by-2022-11-02"},
			[]any{201.0, over, "a/by-2025-07-05"}, []any{201.0, over, "a/by-newest"},
		},
		"refused": []any{denied, unsigned, unsigned, unsigned, denied, denied, "404 BlobNotFound"},
		"pages": []any{
			[]any{block("a/by-2020-12-06", 15), block("a/by-2022-11-02", 15)},
			[]any{block("a/by-2025-07-05", 15), block("a/by-newest", 11)}, []any{block("a/one", 5)},
		},
		"range": "irs", "properties": 5.0, "over": []any{201.0, "third"},
		"deleted": []any{202.0, "404 BlobNotFound"}, "missing": "404 ContainerNotFound",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the peer saw (-want +got):\n%s", diff)
	}
}

// TestPeersArePinned checks the lock file: installations use the configured registry, and get
// exactly the tested versions.
func TestPeersArePinned(t *testing.T) {
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
