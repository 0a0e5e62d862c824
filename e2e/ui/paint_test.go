package ui

import (
	"net"
	"strconv"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/page"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/server"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/largefleet"
)

const (
	// maxElements bounds the elements of a screen of the large fleet.
	maxElements = 8000
	// maxPaint bounds how many times as long as the same screen of one shop it may take to be painted first.
	maxPaint = 10
)

// unchanging is a fleet that does not change.
type unchanging struct{ known *hubstate.Snapshot }

// Snapshot implements server.Source.
func (u *unchanging) Snapshot() *hubstate.Snapshot { return u.known }

// BenchmarkPaint measures, in milliseconds, the first paint of each screen of a large fleet from the request on, and the
// longest task of the browser while the page is live for some seconds. The baseline is the same screen of one shop.
func BenchmarkPaint(b *testing.B) {
	tab, large := openBrowser(b), largefleet.New(time.Now())
	one := &hubstate.Snapshot{Hub: large.Hub, Sources: large.Sources, Members: large.Members[:largefleet.PerShop+1], Apps: large.Apps[1:2], Backups: large.Backups[:2*largefleet.PerShop]}
	ofLarge, ofOne := servePage(b, tab, large), servePage(b, tab, one)
	for _, screen := range page.Screens() {
		b.Run(screen.Name, func(b *testing.B) {
			var least, baseline, longest, elements float64
			for b.Loop() {
				baseline = paint(b, tab, at(b, ofOne, screen.Name), baseline)
				least = paint(b, tab, at(b, ofLarge, screen.Name), least)
				framework.Pause(b, 5*time.Second)
				longest = max(longest, number(b, tab, "longest"))
				elements = number(b, tab, `document.querySelectorAll("*").length`)
			}
			b.ReportMetric(least, "ms/paint")
			b.ReportMetric(baseline, "ms/paint-of-one-shop")
			b.ReportMetric(longest, "ms/longest-task")
			b.ReportMetric(elements, "elements")
			if elements > maxElements || least > maxPaint*baseline {
				b.Errorf("%.0f elements, painted after %.0f ms; want at most %d, and %d times the %.0f ms of one shop", elements, least, maxElements, maxPaint, baseline)
			}
		})
	}
}

// servePage serves a fleet until the test ends, has the browser admitted, and returns the address.
func servePage(b *testing.B, tab browser, known *hubstate.Snapshot) string {
	b.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.Fatal(err)
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		b.Fatalf("listening at %s", listener.Addr())
	}
	handler, printed, err := server.New(server.Options{Source: &unchanging{known}, Clock: clock.RealClock{}, Address: address})
	if err != nil {
		b.Fatal(err)
	}
	serving := server.NewHTTP(handler)
	go func() { _ = serving.Serve(listener) }() // It ends when it is closed.
	b.Cleanup(func() { _ = serving.Close() })
	tab.open(b, printed)
	return printed
}

// paint opens an address, and returns when it was painted first, in milliseconds, or the time of an earlier opening if that
// was shorter. It then has the longest task observed.
func paint(b *testing.B, tab browser, address string, earlier float64) float64 {
	b.Helper()
	tab.open(b, address)
	tab.evaluate(b, `(window.longest = 0, new PerformanceObserver(l => l.getEntries().forEach(e => { longest = Math.max(longest, e.duration) })).observe({type: "longtask", buffered: true}))`)
	tab.await(b, "the first paint", `performance.getEntriesByName("first-contentful-paint").length > 0`)
	took := number(b, tab, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
	if earlier == 0 {
		return took
	}
	return min(took, earlier)
}

// number returns the value of an expression.
func number(b *testing.B, tab browser, expression string) float64 {
	b.Helper()
	value, err := strconv.ParseFloat(tab.evaluate(b, expression), 64)
	if err != nil {
		b.Fatal(err)
	}
	return value
}
