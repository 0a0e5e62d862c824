package ui

import (
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/page"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/server"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	manyMembers = 500
	manyShops   = 2000
	manyRegions = 20
	perShop     = 3
)

// large is a fleet that does not change, of which one region does not answer.
type large struct{ known *hubstate.Snapshot }

// Snapshot implements server.Source.
func (l *large) Snapshot() *hubstate.Snapshot { return l.known }

func newLarge(now time.Time) *large {
	s := &hubstate.Snapshot{}
	for _, kind := range hubstate.Kinds() {
		s.Sources = append(s.Sources, hubstate.Source{Kind: kind, Read: true})
	}
	observed := metav1.NewTime(now.Add(-time.Minute))
	region := func(i int) string { return fmt.Sprintf("region-%02d", i%manyRegions) }
	answers := func(i int) metav1.ConditionStatus {
		if i%manyRegions == 0 {
			return metav1.ConditionFalse
		}
		return metav1.ConditionTrue
	}
	for i := range manyMembers {
		m := v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("member-%03d", i)}}
		m.Status.Region, m.Status.LastObservedTime = region(i), &observed
		for _, kind := range []string{v1.ConditionReady, v1.ConditionConnected} {
			m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: kind, Status: answers(i), Reason: v1.ReasonProbeFailed, LastTransitionTime: observed})
		}
		s.Members = append(s.Members, m)
	}
	for i := range manyShops {
		app := v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "production", Name: fmt.Sprintf("shop-%04d", i)}}
		for j := range perShop {
			at := (i*perShop + j) % manyMembers
			stale := answers(at) == metav1.ConditionFalse
			app.Status.Clusters = append(app.Status.Clusters, v1.ClusterStatus{Name: s.Members[at].Name, Region: region(at), Phase: v1.PhaseRunning,
				Ready: true, Available: true, Stale: stale, LastObservedTime: &observed})
			app.Status.Regions = append(app.Status.Regions, v1.RegionStatus{Name: region(at), Clusters: 1, ReadyClusters: 1})
		}
		s.Apps = append(s.Apps, app)
	}
	return &large{s}
}

// BenchmarkPaint measures, in milliseconds, the first paint of each screen of 500 members and 2,000 shops from the request
// on, and the longest task of the browser while the page is live for some seconds.
func BenchmarkPaint(b *testing.B) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.Fatal(err)
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		b.Fatalf("listening at %s", listener.Addr())
	}
	handler, printed, err := server.New(server.Options{Source: newLarge(time.Now()), Clock: clock.RealClock{}, Address: address})
	if err != nil {
		b.Fatal(err)
	}
	serving := server.NewHTTP(handler)
	go func() { _ = serving.Serve(listener) }() // It ends when it is closed.
	defer func() { _ = serving.Close() }()
	tab := openBrowser(b)
	tab.open(b, printed)
	for _, screen := range page.Screens() {
		b.Run(screen.Name, func(b *testing.B) {
			for b.Loop() {
				tab.open(b, at(b, printed, screen.Name))
				tab.evaluate(b, `(window.longest = 0, new PerformanceObserver(l => l.getEntries().forEach(e => { longest = Math.max(longest, e.duration) })).observe({type: "longtask", buffered: true}))`)
				tab.await(b, "the first paint", `performance.getEntriesByName("first-contentful-paint").length > 0`)
				report(b, tab, `performance.getEntriesByName("first-contentful-paint")[0].startTime`, "ms/paint")
				framework.Pause(b, 5*time.Second)
				report(b, tab, "longest", "ms/longest-task")
			}
		})
	}
}

// report reports the value of an expression as a metric.
func report(b *testing.B, tab browser, expression, unit string) {
	b.Helper()
	value, err := strconv.ParseFloat(tab.evaluate(b, expression), 64)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(value, unit)
}
