package accounts

import (
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// clockMemory is how long a provider's clock is known after a response. Accounts are
// verified every hour.
const clockMemory = 2 * time.Hour

// reading is what a host said its time was.
type reading struct {
	// date is the host's time when the hub's was at.
	date, at time.Time
}

// providerClock remembers the clocks of the hosts that an account's requests go to. It is
// safe for concurrent use.
type providerClock struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	byHost map[string]reading
}

func newProviderClock(c clock.PassiveClock) *providerClock {
	return &providerClock{clock: c, byHost: map[string]reading{}}
}

// note remembers the time in a response.
func (p *providerClock) note(from *url.URL, header http.Header) {
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil || !trusted(from) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byHost[from.Host] = reading{date: date, at: p.clock.Now()}
}

// skew returns how far the clock that is off most is ahead of the hub's; negative: behind.
// Time that has passed since a response is measured by the monotonic clock, so that a hub
// whose clock is set meanwhile knows.
func (p *providerClock) skew() (ahead time.Duration, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	for host, r := range p.byHost {
		passed := now.Sub(r.at)
		if passed < 0 || passed > clockMemory {
			delete(p.byHost, host)
			continue
		}
		if off := r.date.Add(passed).Sub(now); !known || off.Abs() > ahead.Abs() {
			ahead, known = off, true
		}
	}
	return ahead, known
}

// trusted reports whether a URL's host tells the provider's time: it is reached over TLS, or
// on a loopback address, as endpoints may be. Metadata services answer over plain HTTP, by the
// clock of the hub's own machine.
func trusted(u *url.URL) bool {
	if u.Scheme == "https" || u.Hostname() == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsLoopback()
}

// dated notes the time in each response.
type dated struct {
	next  http.RoundTripper
	clock *providerClock
}

// RoundTrip sends a request.
func (d dated) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := d.next.RoundTrip(r)
	if err == nil {
		d.clock.note(r.URL, response.Header)
	}
	return response, err
}

// Skew returns how far the clock of an account's provider is ahead of the hub's, negative if
// it is behind. It is not known when no response has told in the last two hours.
func (a *Accounts) Skew(name string) (ahead time.Duration, known bool) {
	a.mu.Lock()
	found := a.byName[name]
	a.mu.Unlock()
	if found == nil {
		return 0, false
	}
	return found.clock.skew()
}
