package connection

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/hub/members/conditions"
)

// minStream is how long after an accepted watch the next error begins a new refusal: an API server
// also accepts a watch whose first event is an error.
const minStream = 10 * time.Second

// watches is an http.RoundTripper for the requests of a cache: lists and watches. It records since
// when the API server has returned only errors for those of a resource. A watch error handler does
// not see that: reflectors repeat a watch that is throttled without calling it. It is safe for
// concurrent use.
type watches struct {
	next  http.RoundTripper
	clock clock.PassiveClock

	mu sync.Mutex
	// refused holds the refusals by path and selectors.
	refused map[string]*refusedWatch
}

// refusedWatch represents consecutive errors in response to lists and watches.
type refusedWatch struct {
	resource    string
	since, last time.Time
	// code is the last status code.
	code int
	// streaming is when the API server accepted the first watch after the last error; zero if it
	// accepted none.
	streaming time.Time
}

func newWatches(next http.RoundTripper, now clock.PassiveClock) *watches {
	return &watches{next: next, clock: now, refused: map[string]*refusedWatch{}}
}

// RoundTrip sends one request. Requests without a response do not count: probes decide about
// those.
func (w *watches) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(request)
	if err == nil {
		w.observe(request.URL, response.StatusCode)
	}
	return response, err
}

// observe records the status code of a list or a watch. A list in pages ends no refusal, because
// a later page may be refused: the watch after it does.
func (w *watches) observe(u *url.URL, code int) {
	now, query := w.clock.Now(), u.Query()
	key := strings.Join([]string{u.Path, query.Get("labelSelector"), query.Get("fieldSelector")}, " ")
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.refused[key]
	switch {
	case code < http.StatusBadRequest && query.Has("watch"):
		if r != nil && r.streaming.IsZero() {
			r.streaming = now
		}
	case code < http.StatusBadRequest:
		if !query.Has("limit") {
			delete(w.refused, key)
		}
	case code == http.StatusGone: // It is listed again from another version.
	default:
		if r == nil || !r.streaming.IsZero() && now.Sub(r.streaming) >= minStream {
			r = &refusedWatch{resource: resourceIn(u.Path), since: now}
			w.refused[key] = r
		}
		r.last, r.code, r.streaming = now, code, time.Time{}
	}
}

// failing returns the resources, sorted and with the last error, for which the API server has
// returned only errors for a time.
func (w *watches) failing(limit time.Duration) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, r := range w.refused {
		if r.streaming.IsZero() && r.last.Sub(r.since) >= limit {
			all = append(all, fmt.Sprintf("%s (%d %s)", r.resource, r.code, http.StatusText(r.code)))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// resourceIn returns the resource of a collection's path, as in deployments.apps.
func resourceIn(path string) string {
	resource := path[strings.LastIndex(path, "/")+1:]
	if _, rest, found := strings.Cut(path, "/apis/"); found {
		group, _, _ := strings.Cut(rest, "/")
		resource += "." + group
	}
	return resource
}

// Unwatched returns the failure for kinds whose lists and watches the API server has refused for
// Timeouts.Unwatched, so that the cache is as old as that; nil if there are none. It sends no
// request.
func (s *Connection) Unwatched() *conditions.Failure {
	if refused := s.watches.failing(s.settings.Timeouts.Unwatched); len(refused) > 0 {
		return conditions.Unwatched(refused)
	}
	return nil
}
