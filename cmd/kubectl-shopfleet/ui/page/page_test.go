package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/api/apitest"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/page"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/view"
)

// render returns the view of a screen.
func render(t *testing.T, r page.Request) string {
	t.Helper()
	p, err := page.New()
	if err != nil {
		t.Fatal(err)
	}
	parts, err := p.Parts(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(parts.View)
}

// states returns the fleets of the golden files.
func states() map[string]*hubstate.Snapshot {
	return map[string]*hubstate.Snapshot{"calm": calm(), "busy": withMoves(busy()), "forbidden": forbidden(), "empty": {Hub: hub(), Sources: read()},
		"silent": silent(), "tenant": tenant()}
}

// TestScreens compares each screen of each fleet with a golden file.
func TestScreens(t *testing.T) {
	for _, screen := range page.Screens() {
		for state, known := range states() {
			t.Run(screen.Name+" "+state, func(t *testing.T) {
				got := render(t, page.Request{Screen: screen.Name, Snapshot: known, Now: now()})
				apitest.Golden(t, screen.Name+"-"+state+".html", got)
			})
		}
	}
	for screen, q := range map[string]view.Query{
		"regions": {App: "production/shop"}, "why": {App: "production/shop"}, "loss": {Region: "us-central1"},
	} {
		t.Run("one of "+screen, func(t *testing.T) {
			got := render(t, page.Request{Screen: screen, Snapshot: withMoves(busy()), Now: now(), Query: q})
			apitest.Golden(t, screen+"-one.html", got)
		})
	}
	t.Run("pending", func(t *testing.T) {
		got := render(t, page.Request{Screen: "why", Snapshot: withMoves(busy()), Now: now(), Query: view.Query{App: "production/wine"}})
		apitest.Golden(t, "why-paused.html", got)
	})
}

// TestForbidden compares, for each kind that a user may not list, the screens that show something of it with golden files:
// what would be computed of that kind is not known, and not none.
func TestForbidden(t *testing.T) {
	for _, tt := range []struct{ kind, screen string }{
		{hubstate.Apps, "needs"}, {hubstate.Apps, "regions"}, {hubstate.Apps, "moving"}, {hubstate.Apps, "loss"}, {hubstate.Apps, "why"},
		{hubstate.Members, "needs"}, {hubstate.Members, "regions"}, {hubstate.Members, "moving"}, {hubstate.Members, "loss"}, {hubstate.Members, "why"},
		{hubstate.Backups, "moving"}, {hubstate.Backups, "loss"}, {hubstate.Restores, "moving"}, {hubstate.Accounts, "loss"},
	} {
		t.Run(tt.screen+" without "+tt.kind, func(t *testing.T) {
			q := view.Query{}
			if tt.screen == "why" {
				q.App = "production/shop"
			}
			got := render(t, page.Request{Screen: tt.screen, Snapshot: without(tt.kind, withMoves(busy())), Now: now(), Query: q})
			apitest.Golden(t, tt.screen+"-without-"+strings.ToLower(tt.kind)+".html", got)
		})
	}
}

// TestAgeGrows: the same objects are shown with another age a minute later, and a fleet that is well is shown as it was.
func TestAgeGrows(t *testing.T) {
	later := now().Add(time.Minute)
	for state, want := range map[string]bool{"busy": true, "calm": false} {
		r := page.Request{Screen: "regions", Snapshot: states()[state], Now: now()}
		before := render(t, r)
		r.Now = later
		if grown := before != render(t, r); grown != want {
			t.Errorf("%s: changed by time alone: %t, want %t", state, grown, want)
		}
	}
	stale := render(t, page.Request{Screen: "regions", Snapshot: busy(), Now: later})
	if !strings.Contains(stale, "served 4m ago") || !strings.Contains(stale, `class="cell stale"`) {
		t.Error("a region that is not seen is not hatched with its age")
	}
}

// TestDocument: a document fits a policy that admits nothing inline.
func TestDocument(t *testing.T) {
	p, err := page.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, screen := range page.Screens() {
		var b bytes.Buffer
		if err := p.Document(&b, page.Request{Screen: screen.Name, Snapshot: busy(), Now: now()}); err != nil {
			t.Fatal(err)
		}
		for _, banned := range []string{" style=", "<style", " hx-on", "js:", " onclick=", "<script>", "http://", `href="/`, `src="/`, `action="/`, `connect="/`} {
			if strings.Contains(b.String(), banned) {
				t.Errorf("%s has %q", screen.Name, banned)
			}
		}
	}
}

// TestGrafana: a page whose user names the dashboard links to it, and tells it nothing.
func TestGrafana(t *testing.T) {
	p, err := page.New()
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"":                                  "are in the dashboard of Grafana.",
		"https://grafana.example.com/d/a?b": `are in <a href="https://grafana.example.com/d/a?b" target="_blank" rel="noreferrer">the dashboard of Grafana</a>.`,
	} {
		s, b := busy(), bytes.Buffer{}
		s.Hub.Grafana = address
		if err := p.Document(&b, page.Request{Screen: "needs", Snapshot: s, Now: now()}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("with the address %q the page lacks %s", address, want)
		}
	}
}

// TestEscaping: what objects say is text.
func TestEscaping(t *testing.T) {
	s := busy()
	for i := range s.Apps {
		s.Apps[i].Status.Message = `<script>alert("a")</script>`
		for j := range s.Apps[i].Status.Conditions {
			s.Apps[i].Status.Conditions[j].Message = `<script>alert("b")</script>`
		}
	}
	for _, screen := range page.Screens() {
		got := render(t, page.Request{Screen: screen.Name, Snapshot: s, Now: now(), Query: view.Query{App: "production/shop", Search: `"><script>alert("c")</script>`}})
		if strings.Contains(got, "<script") {
			t.Errorf("%s has a script", screen.Name)
		}
	}
}

// TestFile: the file has all screens, refers to nothing, runs nothing, and its policy admits its styles.
func TestFile(t *testing.T) {
	p, err := page.New()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.File(&b, withMoves(busy()), now()); err != nil {
		t.Fatal(err)
	}
	file := b.String()
	for _, banned := range []string{"<script", " src=", "<link", "href=\"/", "<form", "url(http"} {
		if strings.Contains(file, banned) {
			t.Errorf("the file has %q", banned)
		}
	}
	for _, screen := range page.Screens() {
		if !strings.Contains(file, `<section id="`+screen.Name+`"`) || !strings.Contains(file, `<a href="#`+screen.Name+`"`) {
			t.Errorf("the file has no %s", screen.Name)
		}
	}
	for style := range strings.SplitSeq(file, "<style>") {
		text, _, found := strings.Cut(style, "</style>")
		if !found {
			continue
		}
		sum := sha256.Sum256([]byte(text))
		if hash := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(file, hash) {
			t.Errorf("the policy does not admit a style: %s", hash)
		}
	}
	_, body, _ := strings.Cut(file, "</head>")
	apitest.Golden(t, "file.html", body)
}
