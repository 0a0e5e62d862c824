package crashpoints_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/setup"
)

var errKilled = errors.New("the process was killed")

// trap observes the writes of the hub about one run, and kills the hub at one of them. It is
// safe for concurrent use.
type trap struct {
	subject subject
	// target kills the hub. The zero value does not.
	target point
	// sprung is closed when the hub was killed.
	sprung chan struct{}

	mu     sync.Mutex
	counts map[string]int
	// seen has the sites in the order of their writes, each with its number.
	seen []point
}

func newTrap(about subject, target point) *trap {
	return &trap{subject: about, target: target, sprung: make(chan struct{}), counts: map[string]int{}}
}

// hit counts a write and returns when to kill, or an empty string.
func (t *trap) hit(w write) moment {
	if !t.subject.has(w) {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	site := w.site()
	if t.counts[site] > 0 && t.subject.once(w) {
		return ""
	}
	t.counts[site]++
	t.seen = append(t.seen, point{site: site, nth: t.counts[site]})
	if t.target.site != site || t.target.nth != t.counts[site] {
		return ""
	}
	return t.target.moment
}

// writes returns the sites so far.
func (t *trap) writes() []point {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]point(nil), t.seen...)
}

// process is one incarnation of the hub, which can be killed: nothing that it sends
// afterwards leaves it, also not for its Lease. It is safe for concurrent use.
type process struct {
	hub  *hub
	kill func()
	// dead is closed when the process is killed, ended when its context is done.
	dead  chan struct{}
	ended <-chan struct{}
}

// newProcess returns a process that ends with ctx, and the context to run it in.
func newProcess(ctx context.Context, h *hub) (context.Context, *process) {
	running, cancel := context.WithCancel(ctx)
	p := &process{hub: h, dead: make(chan struct{}), ended: running.Done()}
	p.kill = sync.OnceFunc(func() {
		close(p.dead)
		cancel()
	})
	return running, p
}

// wrapCluster returns a transport to API servers that ends with the process.
func (p *process) wrapCluster(next http.RoundTripper) http.RoundTripper {
	return p.wrap(next, func(request *http.Request) (write, bool) {
		return parse(p.hub.cluster(request.URL.Host), request)
	})
}

// wrap returns a transport that ends with the process. The function returns the write that a
// request asks for, and false for other requests.
func (p *process) wrap(next http.RoundTripper, parse func(*http.Request) (write, bool)) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if p.isDead() {
			return p.hold(request)
		}
		w, ok := parse(request)
		return p.roundTrip(next, request, w, ok)
	})
}

func (p *process) roundTrip(next http.RoundTripper, request *http.Request, w write, ok bool) (*http.Response, error) {
	if !ok {
		return next.RoundTrip(request)
	}
	armed, at := p.hub.hit(w)
	if at == beforeSend {
		p.spring(armed)
		return p.hold(request)
	}
	response, err := next.RoundTrip(request)
	if at == "" {
		return response, err
	}
	p.spring(armed)
	if at == afterResponse || err != nil {
		return response, err
	}
	_ = response.Body.Close()
	return p.hold(request)
}

func (p *process) spring(armed *trap) {
	p.kill()
	close(armed.sprung)
}

func (p *process) isDead() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// hold blocks until the process has ended, or the request is given up.
func (p *process) hold(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	select {
	case <-p.ended:
	case <-request.Context().Done():
	}
	return nil, errKilled
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// restartDelay is the time between the end of a process that was not killed and the next start.
const restartDelay = 100 * time.Millisecond

// hub runs one process after the other, as a Deployment does. It is safe for concurrent use.
type hub struct {
	// clusters are the names of the clusters by host.
	clusters map[string]string
	options  setup.Options
	// clock is that of the Backups.
	clock *skippingClock

	mu      sync.Mutex
	traps   []*trap
	current *process
}

func (h *hub) cluster(host string) string { return h.clusters[host] }

// arm sets the traps, in place of those before.
func (h *hub) arm(traps ...*trap) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.traps = traps
}

// hit counts a write in all traps, and returns the one that kills there and when.
func (h *hub) hit(w write) (*trap, moment) {
	h.mu.Lock()
	traps := h.traps
	h.mu.Unlock()
	for _, t := range traps {
		if at := t.hit(w); at != "" {
			return t, at
		}
	}
	return nil, ""
}

// kill kills the process that runs.
func (h *hub) kill() {
	h.mu.Lock()
	p := h.current
	h.mu.Unlock()
	p.kill()
}

// run starts a process, and another whenever one has ended, until ctx is done. A leader that
// could not renew its Lease in time, because the machine is busy, ends as well.
func (h *hub) run(ctx context.Context, t *testing.T) error {
	t.Helper()
	for ctx.Err() == nil {
		err := h.runOnce(ctx)
		if err != nil && ctx.Err() == nil {
			t.Logf("The hub ended by itself: %v", err)
			select {
			case <-ctx.Done():
			case <-time.After(restartDelay):
			}
		}
	}
	return nil
}

// runOnce runs one process, and returns its error unless it was killed.
func (h *hub) runOnce(ctx context.Context) error {
	running, p := newProcess(ctx, h)
	defer p.kill() // Nothing of it is left.
	h.mu.Lock()
	h.current = p
	h.mu.Unlock()
	options := h.options
	options.Wrap, options.Clouds = p.wrapCluster, cloud.Registry{v1.ProviderAWS: p.connect}
	err := setup.Run(running, options)
	if p.isDead() {
		return nil
	}
	return err
}
