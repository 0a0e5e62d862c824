package page_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/page"
)

const (
	manyMembers = 500
	manyShops   = 2000
	manyRegions = 20
	// perShop is the number of clusters of each shop.
	perShop = 3
)

// many returns a large fleet: one region does not answer, each tenth shop has a problem, and each database two backups.
func many() *hubstate.Snapshot {
	s := &hubstate.Snapshot{Hub: hub(), Sources: read()}
	name := func(i int) string { return fmt.Sprintf("member-%03d", i) }
	region := func(i int) string { return fmt.Sprintf("region-%02d", i%manyRegions) }
	for i := range manyMembers {
		m := member(name(i), region(i), v1.ProviderAWS)
		if i%manyRegions == 0 {
			m = lost(name(i), region(i), v1.ProviderAWS)
		}
		s.Members = append(s.Members, *m.Obj())
	}
	for i := range manyShops {
		var clusters []v1.ClusterStatus
		for j := range perShop {
			at := (i*perShop + j) % manyMembers
			e := entry(name(at), region(at), v1.ProviderAWS)
			switch {
			case at%manyRegions == 0:
				e = stale(e)
			case i%10 == 0:
				e = down(e)
			}
			clusters = append(clusters, e)
		}
		app := shop(fmt.Sprintf("shop-%04d", i), v1.PhaseRunning, clusters...)
		if i%10 == 0 {
			app = with(app, condition(v1.ConditionAvailable, "False", v1.ReasonUnavailable, "customers are not served in "+clusters[0].Name, time.Duration(i)*time.Second))
		}
		s.Apps = append(s.Apps, *app.With(withDatabase).Obj())
		for _, c := range clusters {
			for _, age := range []time.Duration{5 * time.Hour, 29 * time.Hour} {
				s.Backups = append(s.Backups, *taken(fmt.Sprintf("shop-%04d", i), c.Name, c.Region, age, "elsewhere").Obj())
			}
		}
	}
	return s
}

// TestBounded counts what a browser gets of a large fleet: a page of shops, and not all of them.
func TestBounded(t *testing.T) {
	s := many()
	for screen, want := range map[string]struct {
		part string
		most int
	}{
		"needs": {"<tr>", 150}, "regions": {`<tr id="row-`, 100}, "loss": {`<th scope="row">`, 100}, "why": {`<li><a href="why`, 100},
	} {
		view := render(t, page.Request{Screen: screen, Snapshot: s, Now: now()})
		if n := strings.Count(view, want.part); n == 0 || n > want.most {
			t.Errorf("%s has %d of %s, want 1 to %d", screen, n, want.part, want.most)
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
	s := many()
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
