package connect

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/hub/members/health"
)

// minStream is how long after an accepted watch the next error begins a new refusal: an API server
// also accepts a watch whose first event is an error.
const minStream = 10 * time.Second

// watches is an http.RoundTripper for the requests of a cache: lists and watches. It records since
// when the API server has returned only errors for the requests of a resource. A watch error handler
// does not see that: reflectors repeat a watch that is throttled without calling it. It is safe for
// concurrent use.
type watches struct {
	next  http.RoundTripper
	clock clock.PassiveClock

	mu sync.Mutex
	// refused holds the refusals by path and selectors.
	refused map[string]*refusedWatch
	// bytes holds the number of bytes received by resource.
	bytes map[string]*atomic.Int64
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
	return &watches{next: next, clock: now, refused: map[string]*refusedWatch{}, bytes: map[string]*atomic.Int64{}}
}

// RoundTrip sends one request. Requests without a response do not count: probes decide about
// those.
func (w *watches) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	w.observe(request.URL, response.StatusCode)
	if response.StatusCode == http.StatusOK {
		response.Body = &countedBody{ReadCloser: response.Body, bytes: w.counter(resourceIn(request.URL.Path))}
	}
	return response, nil
}

// counter returns the counter of the bytes that are received of a resource.
func (w *watches) counter(resource string) *atomic.Int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bytes[resource] == nil {
		w.bytes[resource] = &atomic.Int64{}
	}
	return w.bytes[resource]
}

// received returns how many bytes were received of a resource.
func (w *watches) received(resource string) int64 { return w.counter(resource).Load() }

// countedBody is the body of a response whose bytes are counted.
type countedBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

// Read reads from the body.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	return n, err
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
// request. An accepted watch proves a cache current only while it lasts: a member that is listed but
// never watched is lost, and connected again, each time that Timeouts.Unwatched is over.
func (c *Connection) Unwatched() *health.Failure {
	if refused := c.watches.failing(c.settings.Timeouts.Unwatched); len(refused) > 0 {
		return health.Unwatched(refused)
	}
	return nil
}
