package page_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/page"
	"github.com/shopfleet/shopfleet/e2e/framework/largefleet"
)

// TestBounded counts what a browser gets of a large fleet: a page of shops, and not all of them, in at most so many KiB.
func TestBounded(t *testing.T) {
	s := largefleet.New(now())
	for screen, want := range map[string]struct {
		part      string
		most, kib int
	}{
		"needs": {"<tr>", 150, 12}, "regions": {`<tr id="row-`, 100, 256}, "moving": {`<article class="rollout">`, 100, 128},
		"loss": {`<th scope="row">`, 100, 40}, "why": {`<li><a href="why`, 100, 160},
	} {
		view := render(t, page.Request{Screen: screen, Snapshot: s, Now: now()})
		if n := strings.Count(view, want.part); n == 0 || n > want.most {
			t.Errorf("%s has %d of %s, want 1 to %d", screen, n, want.part, want.most)
		}
		if kib := len(view) / 1024; kib > want.kib {
			t.Errorf("%s has %d KiB, want at most %d", screen, kib, want.kib)
		}
	}
	view := render(t, page.Request{Screen: "regions", Snapshot: s, Now: now()})
	if !strings.Contains(view, "Page 1 of 20, worst first") || !strings.Contains(view, "production/shop-0000") {
		t.Error("the first page of the regions does not begin with the worst")
	}
}

// BenchmarkDocument measures how long a document of a large fleet takes, from the objects to the last byte.
func BenchmarkDocument(b *testing.B) {
	p, err := page.New()
	if err != nil {
		b.Fatal(err)
	}
	s := largefleet.New(now())
	for _, screen := range page.Screens() {
		b.Run(screen.Name, func(b *testing.B) {
			var size int
			for b.Loop() {
				var w bytes.Buffer
				if err := p.Document(&w, page.Request{Screen: screen.Name, Snapshot: s, Now: now()}); err != nil {
					b.Fatal(err)
				}
				size = w.Len()
			}
			b.ReportMetric(float64(size)/1024, "KiB")
		})
	}
}
