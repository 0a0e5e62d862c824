package accounts

import (
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// clockMemory is how long a measured clock skew is valid. Accounts are verified every
// hour.
const clockMemory = 2 * time.Hour

// reading is the time of a host.
type reading struct {
	// date is the host's time, and at the hub's, of the same moment.
	date, at time.Time
}

// providerClock records the clocks of the hosts that an account's requests are sent to.
// It is safe for concurrent use.
type providerClock struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	byHost map[string]reading
}

func newProviderClock(c clock.PassiveClock) *providerClock {
	return &providerClock{clock: c, byHost: map[string]reading{}}
}

// record stores the time of a response.
func (p *providerClock) record(from *url.URL, header http.Header) {
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil || !trusted(from) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byHost[from.Host] = reading{date: date, at: p.clock.Now()}
}

// skew returns the largest skew of a host relative to the hub; negative if the host is
// behind. The age of a measurement is computed with the monotonic clock, so that setting
// the hub's clock shows as skew.
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

// trusted reports whether the Date header of a host can be trusted: it is reached over
// TLS, or on a loopback address, as endpoints may be. Metadata services use plain HTTP
// and the clock of the hub's own node.
func trusted(u *url.URL) bool {
	if u.Scheme == "https" || u.Hostname() == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsLoopback()
}

// dated is a http.RoundTripper that records the time of each response.
type dated struct {
	next  http.RoundTripper
	clock *providerClock
}

// RoundTrip implements http.RoundTripper.
func (d dated) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := d.next.RoundTrip(r)
	if err == nil {
		d.clock.record(r.URL, response.Header)
	}
	return response, err
}

// Skew returns how far the clock of an account's provider is ahead of the hub's; negative
// if behind. It is unknown if no response was received in the last two hours.
func (a *Accounts) Skew(name string) (ahead time.Duration, known bool) {
	a.mu.Lock()
	found := a.byName[name]
	a.mu.Unlock()
	if found == nil {
		return 0, false
	}
	return found.clock.skew()
}
