package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPushElsewhere checks that nothing is pushed to a registry that the manifests of the release do not name.
func TestPushElsewhere(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"shopfleet-hub-0.1.0.tgz": "",
		"install-hub.yaml":        "spec:\n      - args: [--spoke-image=r.example.com/a/shopfleet-spoke:v0.1.0]\n        image: r.example.com/a/shopfleet-hub:v0.1.0\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, to := range []string{"r.example.com/b", "r.example.com", "", "other.example.com/a/", "https://r.example.com/a"} {
		err := push(t.Context(), []string{"--from", folder, "--to", to})
		if !errors.Is(err, errRegistry) || !strings.Contains(err.Error(), `"r.example.com/a"`) || !strings.Contains(err.Error(), strings.TrimSuffix(to, "/")) {
			t.Errorf("pushing to %q: %v, want an error with both registries", to, err)
		}
	}
	if err := checkRegistry(folder, "r.example.com/a", "v0.1.0"); err != nil {
		t.Errorf("the registry of the release: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "install-hub.yaml"), []byte("        image: shopfleet-hub:v0.1.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkRegistry(folder, "r.example.com/b", "v0.1.0"); err != nil {
		t.Errorf("manifests without a registry: %v", err)
	}
	if err := checkRegistry(folder, "r.example.com/a", "v0.2.0"); err == nil || errors.Is(err, errRegistry) {
		t.Errorf("manifests of another version: %v", err)
	}
}
