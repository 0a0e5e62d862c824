package fencing

import (
	"io"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// Fence blocks writes unless a Lease was renewed recently. It is safe for concurrent use.
// A nil Fence blocks nothing: a process without leader election has a nil Fence.
type Fence struct {
	limit   time.Duration
	clock   clock.PassiveClock
	renewed atomic.Pointer[time.Time]
}

// New returns a Fence that blocks until the first renewal, and from limit after the last
// one by the clock. The limit must be positive and shorter than the duration of the Lease.
func New(limit time.Duration, c clock.PassiveClock) *Fence { return &Fence{limit: limit, clock: c} }

// Wrap returns a transport to an API server that sends a request only if the fence does not
// block, or if the request changes nothing or is for a Lease. Otherwise it returns
// apierror.ErrFenced. A Lease that was written is a renewal: the process must write no Lease
// but its own.
func (f *Fence) Wrap(next http.RoundTripper) http.RoundTripper {
	if f == nil {
		return next
	}
	return &fenced{next: next, fence: f}
}

// WrapCloud returns a transport to a cloud that sends a request only if the fence does not
// block. Otherwise it returns apierror.ErrFenced. It does not tell reads from writes: some
// clouds read with POST.
func (f *Fence) WrapCloud(next http.RoundTripper) http.RoundTripper {
	if f == nil {
		return next
	}
	return &fencedCloud{next: next, fence: f}
}

// check returns apierror.ErrFenced while the fence blocks.
func (f *Fence) check() error {
	renewed := f.renewed.Load()
	if renewed == nil {
		return apierror.ErrFenced
	}
	now := f.clock.Now()
	// Round strips the reading of the monotonic clock.
	if age := max(now.Sub(*renewed), now.Round(0).Sub(renewed.Round(0))); age >= f.limit {
		return apierror.ErrFenced
	}
	return nil
}

type fenced struct {
	next  http.RoundTripper
	fence *Fence
}

// RoundTrip sends a request, or returns apierror.ErrFenced.
func (f *fenced) RoundTrip(request *http.Request) (*http.Response, error) {
	switch {
	case reads(request):
		return f.next.RoundTrip(request)
	case strings.HasPrefix(request.URL.Path, "/apis/coordination.k8s.io/"):
		return f.renew(request)
	default:
		return guard(request, f.next, f.fence.check)
	}
}

// fencedCloud is the transport of WrapCloud.
type fencedCloud struct {
	next  http.RoundTripper
	fence *Fence
}

// RoundTrip sends a request, or returns apierror.ErrFenced.
func (f *fencedCloud) RoundTrip(request *http.Request) (*http.Response, error) {
	return guard(request, f.next, f.fence.check)
}

// guard sends a request unless check returns an error, also while the body is sent.
func guard(request *http.Request, next http.RoundTripper, check func() error) (*http.Response, error) {
	if err := check(); err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, err
	}
	if request.Body == nil || request.Body == http.NoBody {
		return next.RoundTrip(request)
	}
	guarded := request.WithContext(request.Context()) // A transport must not change the request itself.
	guarded.Body = &body{ReadCloser: request.Body, check: check}
	if again := request.GetBody; again != nil {
		guarded.GetBody = func() (io.ReadCloser, error) {
			content, err := again()
			if err != nil {
				return nil, err
			}
			return &body{ReadCloser: content, check: check}, nil
		}
	}
	return next.RoundTrip(guarded)
}

// renew writes the Lease. It counts as renewed when the request began: the API server may
// have stored it at any time since.
func (f *fenced) renew(request *http.Request) (*http.Response, error) {
	began := f.fence.clock.Now()
	response, err := f.next.RoundTrip(request)
	if err == nil && response.StatusCode < http.StatusMultipleChoices {
		f.fence.renewed.Store(&began)
	}
	return response, err
}

// WrappedRoundTripper returns the wrapped transport, for apimachinery.
func (f *fenced) WrappedRoundTripper() http.RoundTripper { return f.next }

// body is the body of a request that changes something.
type body struct {
	io.ReadCloser
	check func() error
}

// Read returns what is sent next, or the error of check.
func (b *body) Read(p []byte) (int, error) {
	if err := b.check(); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}

// reads reports whether a request to an API server changes nothing that is stored, and opens
// no stream to a pod. Reviews of tokens and of access are created, but not stored.
func reads(request *http.Request) bool {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return !streams(request.URL.Path)
	}
	// The URL of the API server may have a path of its own.
	return strings.Contains(request.URL.Path, "/apis/authentication.k8s.io/") ||
		strings.Contains(request.URL.Path, "/apis/authorization.k8s.io/")
}

// streams reports whether the path of a URL opens a stream to a pod, which a GET does over
// WebSocket. The header of the upgrade does not tell: a transport below the fence sets it.
func streams(url string) bool {
	switch path.Base(url) {
	case "exec", "attach", "portforward":
		return path.Base(path.Dir(path.Dir(url))) == "pods"
	}
	return false
}
