package ui

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/page"
)

// assets is the folder with the lock of what the page has from npm.
const assets = "../../cmd/kubectl-shopfleet/ui/page/assets"

// modules installs what the lock names, and returns the folder that has it. Without npm it skips the test.
func modules(t *testing.T) string {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("there is no npm: apt-get install npm")
	}
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(assets, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("installing the modules: %v\n%s", err, out)
	}
	return filepath.Join(dir, "node_modules")
}

// TestAssets: what the page embeds of others is what the lock names, with its licence.
func TestAssets(t *testing.T) {
	from := modules(t)
	for name, source := range map[string]string{
		"htmx.min.js": "htmx.org/dist/htmx.min.js", "hx-sse.min.js": "htmx.org/dist/ext/hx-sse.min.js", "htmx.LICENSE": "htmx.org/LICENSE",
		"pico.classless.min.css": "@picocss/pico/css/pico.classless.min.css", "pico.LICENSE": "@picocss/pico/LICENSE.md",
	} {
		want, err := os.ReadFile(filepath.Join(from, filepath.FromSlash(source)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(assets, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from that of the lock: make page-assets", name)
		}
	}
	for _, name := range []string{"htmx.min.js", "hx-sse.min.js", "pico.classless.min.css"} {
		if _, err := fs.Stat(page.Assets(), path.Join("assets", name)); err != nil {
			t.Errorf("%s is not embedded: %v", name, err)
		}
	}
}

// violation holds one finding of axe-core.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML string `json:"html"`
	} `json:"nodes"`
}

// testAxe runs axe-core on all screens, of a fleet with a region that does not answer in light and dark.
func (s *suite) testAxe(t *testing.T) {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(modules(t), "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	b, served := s.opened(t)
	b.open(t, at(t, served.url, "regions"))
	thaw := s.freeze(t)
	defer s.AwaitRunning(t, s.app, "eu-west-1", "southeastasia")
	defer thaw()
	b.await(t, "a hatched region", stale)
	for _, scheme := range []string{"light", "dark"} {
		b.prefer(t, scheme)
		for _, screen := range page.Screens() {
			b.open(t, at(t, served.url, screen.Name)+"?app=production/shop")
			run(t, b, chromedp.Evaluate[bool](string(script)+";true"))
			found := run(t, b, chromedp.Evaluate[[]violation](`axe.run().then(r => r.violations)`, chromedp.EvalAwaitPromise))
			for _, v := range found {
				t.Errorf("%s in %s: %s, %s: %s", screen.Name, scheme, v.ID, v.Help, v.Nodes[0].HTML)
			}
		}
	}
}
