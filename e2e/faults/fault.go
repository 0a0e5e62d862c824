package faults

import (
	"slices"
	"strings"
	"sync"

	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
)

// Match chooses requests. The zero value chooses all.
type Match struct {
	// Verbs holds verbs of the API: get, list, watch, create, update, patch, delete,
	// deletecollection. Empty means all.
	Verbs []string
	// Resource is a plural, or *.GROUP for a group, Subresource one of its subresources.
	Resource, Subresource string
	Namespace, Name       string
	// UserAgent is a prefix.
	UserAgent string
	// Skip is how many of the chosen requests pass before the fault, and Times how many
	// meet it; 0 means all that follow. Neither counts events of watches.
	Skip, Times int
}

// accepts reports whether a request is one of those that are chosen.
func (m Match) accepts(e audit.Event) bool {
	group, isGroup := strings.CutPrefix(m.Resource, "*.")
	switch {
	case len(m.Verbs) > 0 && !slices.Contains(m.Verbs, e.Verb):
	case isGroup && group != e.Group, !isGroup && m.Resource != "" && m.Resource != e.Resource:
	case m.Subresource != "" && m.Subresource != e.Subresource:
	case m.Namespace != "" && m.Namespace != e.Namespace:
	case m.Name != "" && m.Name != e.Name:
	default:
		return strings.HasPrefix(e.UserAgent, m.UserAgent)
	}
	return false
}

// Fault is an action that requests meet. A request meets one fault at most, the first that was
// injected and is neither skipping requests nor used up. It is safe for concurrent use.
type Fault struct {
	proxy  *Proxy
	match  Match
	action Action
	// removed is closed by Remove, and by Expire.
	removed chan struct{}
	remove  func()

	// The rest is guarded by the proxy's lock.
	seen, fired int
	expired     bool
}

// Inject adds a fault, which stays until Remove.
func (p *Proxy) Inject(m Match, a Action) *Fault {
	f := &Fault{proxy: p, match: m, action: a, removed: make(chan struct{})}
	f.remove = sync.OnceFunc(func() {
		p.mu.Lock()
		p.faults = slices.DeleteFunc(p.faults, func(other *Fault) bool { return other == f })
		p.mu.Unlock()
		close(f.removed)
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, f)
	return f
}

// Remove ends the fault. Requests that wait in it end without a response, and events that
// are held pass.
func (f *Fault) Remove() { f.remove() }

// Expire ends the fault. Watches with held events end with the error 410 in their
// place, as after a compaction.
func (f *Fault) Expire() {
	f.proxy.mu.Lock()
	f.expired = true
	f.proxy.mu.Unlock()
	f.remove()
}

// Fired returns how many requests, or events of watches, have met the fault.
func (f *Fault) Fired() int {
	f.proxy.mu.Lock()
	defer f.proxy.mu.Unlock()
	return f.fired
}

// claim counts a request in, and reports whether it meets the fault. The caller has the
// proxy's lock.
func (f *Fault) claim(e *Entry) bool {
	if !f.match.accepts(e.Event) {
		return false
	}
	f.seen++
	if f.seen <= f.match.Skip || f.match.Times > 0 && f.fired >= f.match.Times {
		return false
	}
	f.fired++
	e.Fault = f.action.name
	return true
}
