package members

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// endpoints are fake API servers by host.
type endpoints map[string]*fakeAPI

// RoundTrip sends a request to the API server of its host.
func (e endpoints) RoundTrip(r *http.Request) (*http.Response, error) {
	return e[r.URL.Host].RoundTrip(r)
}

func (e endpoints) wrap(http.RoundTripper) http.RoundTripper { return e }

func (e endpoints) add(name string, api *fakeAPI) { api.uid, e[name+".test"] = name, api }

func (e endpoints) set(t *testing.T, f *Fleet) {
	t.Helper()
	for host, api := range e {
		f.Set(api.uid, Target{Kubeconfig: kubeconfigFor(t, "https://"+host, nil)})
	}
}

// TestConnectsAreBounded starts a hub with 100 members: 20 do not answer, 20 answer probes and
// nothing else, and the others answer. At most four of the latter connect at a time, and they wait
// neither for members that do not answer nor long for those that stop to answer. A member that is
// connected is probed on time.
func TestConnectsAreBounded(t *testing.T) {
	t.Parallel()
	const connects, others, healthy = 4, 20, 60
	synctest.Test(t, func(t *testing.T) {
		all, answers := endpoints{}, &counting{}
		for i := range others {
			all.add(fmt.Sprint("silent", i), &fakeAPI{fail: hang})
			all.add(fmt.Sprint("stuck", i), &fakeAPI{fail: hangAfterProbe})
		}
		for i := range healthy {
			all.add(fmt.Sprint("healthy", i), &fakeAPI{fail: answers.observe})
		}
		f := start(t, Options{Connects: connects, Wrap: all.wrap})
		all.set(t, f)
		began := clock.RealClock{}.Now()
		for engaged := 0; engaged < healthy; {
			<-time.After(time.Second)
			engaged = countEngaged(t, f)
			if took := (clock.RealClock{}).Since(began); took > 30*time.Second {
				t.Fatalf("%d of %d members that answer are engaged after %s", engaged, healthy, took)
			}
		}
		if most := answers.most.Load(); most > connects {
			t.Errorf("%d members connected at a time, want %d at most", most, connects)
		}
	})
}

// counting counts the members that connect at a time, from their inspection to their first watch.
type counting struct{ now, most atomic.Int32 }

func (c *counting) observe(r *http.Request) int {
	switch {
	case r.URL.Path == rulesPath:
		c.most.Store(max(c.most.Load(), c.now.Add(1)))
	case r.URL.Query().Has("watch"):
		<-time.After(100 * time.Millisecond)
		c.now.Add(-1)
	}
	return 0
}

// countEngaged returns the number of members that are engaged, and fails if one was not probed in time.
func countEngaged(t *testing.T, f *Fleet) int {
	t.Helper()
	engaged := 0
	for _, name := range f.Names() {
		state, _ := f.State(name)
		if !state.Engaged {
			continue
		}
		engaged++
		if age := (clock.RealClock{}).Since(state.LastProbe); age > 6*time.Second {
			t.Fatalf("%s is connected and was probed %s ago", name, age)
		}
	}
	return engaged
}

// hangAfterProbe answers nothing but probes.
func hangAfterProbe(r *http.Request) int {
	if isProbe(r) {
		return 0
	}
	return hang(r)
}

// hang does not answer a request.
func hang(r *http.Request) int {
	<-r.Context().Done()
	return http.StatusServiceUnavailable
}
