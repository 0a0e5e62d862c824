package main

import (
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/demo/background"
)

// TestDemoStaysOnThisMachine checks the addresses that the demo gives to its programs.
// The control planes are checked in the tests of package fleet.
func TestDemoStaysOnThisMachine(t *testing.T) {
	address, err := background.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if parsed, err := netip.ParseAddrPort(address); err != nil || !parsed.Addr().IsLoopback() {
		t.Errorf("the hub and the cloud listen on %q, which is not a loopback address", address)
	}

	_, manifest, _ := strings.Cut(manifestOf(address), "\n---\n")
	known := &v1.CloudAccount{}
	if err := yaml.UnmarshalStrict([]byte(manifest), known); err != nil {
		t.Fatal(err)
	}
	endpoint, err := url.Parse(known.Spec.Endpoint)
	if err != nil || endpoint.Host != address {
		t.Errorf("the hub dials %q for the cloud at %q, error %v", known.Spec.Endpoint, address, err)
	}

	app, err := os.ReadFile(filepath.Join("..", "..", sample))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(app), "://") {
		t.Errorf("%s names a URL:\n%s", sample, app)
	}
}
