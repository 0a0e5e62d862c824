package crashpoints_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/e2e/framework/crash"
	"github.com/shopfleet/shopfleet/hub/setup"
)

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
func (t *trap) hit(w write) crash.Moment {
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
	current *crash.Process
}

// arm sets the traps, in place of those before.
func (h *hub) arm(traps ...*trap) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.traps = traps
}

// hit counts a write in all traps, and returns what it meets in them.
func (h *hub) hit(r crash.Request) crash.Hit {
	h.mu.Lock()
	traps := h.traps
	h.mu.Unlock()
	for _, t := range traps {
		if at := t.hit(write{r}); at != "" {
			return crash.Hit{At: at, Ended: func() { close(t.sprung) }}
		}
	}
	return crash.Hit{}
}

// kill kills the process that runs.
func (h *hub) kill() {
	h.mu.Lock()
	p := h.current
	h.mu.Unlock()
	p.End()
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
	running, p := crash.NewProcess(ctx, h.hit)
	defer p.End() // Nothing of it is left.
	h.mu.Lock()
	h.current = p
	h.mu.Unlock()
	options := h.options
	options.Wrap = func(next http.RoundTripper) http.RoundTripper {
		return p.Wrap(next, func(request *http.Request) (crash.Request, bool) {
			return parse(h.clusters[request.URL.Host], request)
		})
	}
	options.Clouds = cloud.Registry{v1.ProviderAWS: connect(p)}
	err := setup.Run(running, options)
	if p.Ended() {
		return nil
	}
	return err
}
