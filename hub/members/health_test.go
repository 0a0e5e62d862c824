package members

import (
	"encoding/pem"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// TestThresholds counts the probes that it takes to lose a member, and those that it
// takes to connect it again.
func TestThresholds(t *testing.T) {
	cluster := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: "a", APIServerOnly: true}}}).Member("a")
	for name, tt := range map[string]struct {
		health            Health
		failures, success int
	}{
		"defaults":   {Health{}, defaultFailureThreshold, defaultSuccessThreshold},
		"configured": {Health{FailureThreshold: 2, SuccessThreshold: 3}, 2, 3},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProbed(t, cluster)
			long := fleettest.Timeout // What fails but a probe would cost more probes.
			f := start(t, Options{Timeouts: Timeouts{Dial: long, Request: long, Probe: long, Review: long, Prepare: long, Sync: long}})
			expect := p.watch(t, f)
			health := tt.health
			health.Period = 10 * time.Millisecond

			probes := p.answer(true)
			f.Set("a", Target{Kubeconfig: p.kubeconfig, Health: health})
			expect("connected", true, probes)
			// As many failures as are not enough, and then as many as are.
			p.answer(slices.Repeat([]bool{false}, tt.failures-1)...)
			p.answer(true)
			probes = p.answer(slices.Repeat([]bool{false}, tt.failures)...)
			expect("lost", false, probes)
			p.answer(slices.Repeat([]bool{true}, tt.success-1)...)
			p.answer(false)
			probes = p.answer(slices.Repeat([]bool{true}, tt.success)...)
			expect("connected again", true, probes)
		})
		for _, seed := range []uint64{1, 3, 10} { // Each has four transitions or more.
			health := Health{FailureThreshold: tt.failures, SuccessThreshold: tt.success}
			t.Run(fmt.Sprintf("flapping, %s, seed %d", name, seed), testFlapping(cluster, health, seed))
		}
	}
}

// testFlapping makes probes succeed and fail as a seed decides: a member is lost after as many failures in a
// row as the threshold says, and connected again after as many successes, but not before, so
// that there is one transition at most in any window of so many probes.
func testFlapping(cluster *fleet.Cluster, health Health, seed uint64) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		const outcomes = 40
		random := rand.New(rand.NewPCG(seed, 0))
		p := newProbed(t, cluster)
		long := fleettest.Timeout
		f := start(t, Options{
			Timeouts: Timeouts{Dial: long, Request: long, Probe: long, Review: long, Prepare: long, Sync: long},
			Periods:  Periods{Retry: 10 * time.Millisecond},
		})
		expect := p.watch(t, f)
		health.Period = time.Millisecond
		begun := p.answer(true)
		f.Set("a", Target{Kubeconfig: p.kubeconfig, Health: health})
		expect("connected", true, begun)

		engaged, row := true, 0
		var transitions []int
		for range outcomes {
			healthy := random.IntN(2) == 0
			probes := p.answer(healthy)
			if row++; healthy == engaged {
				row = 0
			}
			if engaged && row == health.FailureThreshold || !engaged && row == health.SuccessThreshold {
				engaged, row = !engaged, 0
				transitions = append(transitions, probes)
			}
		}
		for i, probes := range transitions {
			expect("flapping", i%2 == 1, probes)
		}
		if len(transitions) < 4 {
			t.Errorf("%d transitions in %d probes, want at least 4: choose another seed", len(transitions), outcomes)
		}
	}
}

const probePath = "/api/v1/namespaces/kube-system"

// probed is an API server whose probes, or other requests of one path, succeed or fail as a
// test decides. One for which nothing is decided yet waits.
type probed struct {
	kubeconfig []byte
	script     chan bool
	// path is that of the requests, and bodies the answers by path instead of an error.
	path   string
	bodies map[string]string
	// decided and answered are numbers of requests.
	decided  int
	answered atomic.Int32
}

func newProbed(t *testing.T, cluster *fleet.Cluster) *probed {
	t.Helper()
	server, err := url.Parse(cluster.Server())
	if err != nil {
		t.Fatal(err)
	}
	admin, err := rest.TransportFor(cluster.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	p := &probed{script: make(chan bool, 100), path: probePath}
	forward := &httputil.ReverseProxy{Transport: admin, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(server)
		r.Out.Header.Del("Authorization")
	}}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := p.bodies[r.URL.Path]
		if r.URL.Path != p.path {
			p.reply(w, r, body, forward)
			return
		}
		select {
		case healthy := <-p.script:
			p.answered.Add(1)
			switch {
			case healthy:
				forward.ServeHTTP(w, r)
			case body != "":
				p.reply(w, r, body, forward)
			default:
				http.Error(w, "not now", http.StatusInternalServerError)
			}
		case <-r.Context().Done():
		}
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	p.kubeconfig = kubeconfigFor(t, s.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	return p
}

// reply sends a body, or forwards the request if it is empty.
func (p *probed) reply(w http.ResponseWriter, r *http.Request, body string, forward http.Handler) {
	if body == "" {
		forward.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

// answer decides the next probes, and returns how many are decided by then.
func (p *probed) answer(healthy ...bool) int {
	for _, h := range healthy {
		p.script <- h
	}
	p.decided += len(healthy)
	return p.decided
}

// watch returns a function that waits until the member is engaged or not any more, and
// compares how many probes were answered before.
func (p *probed) watch(t *testing.T, f *Fleet) func(what string, engaged bool, probes int) {
	t.Helper()
	type change struct {
		engaged bool
		probes  int
	}
	changes := make(chan change, 100)
	engaged := false
	// The fleet calls it before the next probe, each time from the same goroutine.
	t.Cleanup(f.OnChange(func(string) {
		if state, _ := f.State("a"); state.Engaged != engaged {
			engaged = state.Engaged
			changes <- change{engaged, int(p.answered.Load())}
		}
	}))
	return func(what string, engaged bool, probes int) {
		t.Helper()
		select {
		case got := <-changes:
			if want := (change{engaged, probes}); got != want {
				t.Fatalf("%s: engaged %t after %d probes, want %t after %d", what, got.engaged, got.probes, want.engaged, want.probes)
			}
		case <-time.After(fleettest.Timeout):
			t.Fatalf("not %s after %d probes", what, probes)
		}
	}
}
