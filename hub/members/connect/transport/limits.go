package transport

import (
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/flowcontrol"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Defaults of Limits.
const (
	DefaultCopies   = 200
	DefaultChildren = 500
	DefaultReads    = 500
)

const (
	// burst is the number of seconds whose requests may be sent at once. The burst of children covers
	// 50 new applications of the largest kind, with 31 children each.
	burst = 4
	// retryAfter is the number of seconds after which a request that was not sent may be tried
	// again.
	retryAfter = 1
)

// copies is the resource of copies.
const copies = "ecommerceapps"

// Limits are the numbers of requests per second to one member, with bursts of four seconds. Each
// kind of request has its own limit, so that it waits for none of another kind.
type Limits struct {
	// Copies limits writes of copies of applications, without writes of subresources.
	Copies int
	// Children limits all other writes. Nearly all of them write children of copies.
	Children int
	// Reads limits reads, lists and watches.
	Reads int
}

// WithDefaults returns a copy in which values that are not positive are replaced by defaults.
func (l Limits) WithDefaults() Limits {
	for value, standard := range map[*int]int{&l.Copies: DefaultCopies, &l.Children: DefaultChildren, &l.Reads: DefaultReads} {
		if *value <= 0 {
			*value = standard
		}
	}
	return l
}

// limiters hold one limiter for each kind of request.
type limiters struct {
	// base is the path of the API server.
	base                    string
	copies, children, reads flowcontrol.RateLimiter
}

func newLimiters(base string, l Limits) *limiters {
	limiter := func(qps int) flowcontrol.RateLimiter {
		return flowcontrol.NewTokenBucketRateLimiter(float32(qps), burst*qps)
	}
	return &limiters{base: base, copies: limiter(l.Copies), children: limiter(l.Children), reads: limiter(l.Reads)}
}

// of returns the limiter of a request.
func (l *limiters) of(request *http.Request) flowcontrol.RateLimiter {
	if request.Method == http.MethodGet || request.Method == http.MethodHead {
		return l.reads
	}
	if r := resourceOf(l.base, request.URL.Path); r.group == v1.GroupName && r.name == copies && r.subresource == "" {
		return l.copies
	}
	return l.children
}

// wrap returns a http.RoundTripper in which each request waits for its limiter.
func (l *limiters) wrap(next http.RoundTripper) http.RoundTripper {
	return &limited{next: next, limiters: l}
}

// limited is safe for concurrent use.
type limited struct {
	next     http.RoundTripper
	limiters *limiters
}

// RoundTrip sends one request, when its limiter allows it. It returns an error with the code 429 if
// that would be after the deadline of the request.
func (l *limited) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	if l.limiters.of(request).Wait(ctx) != nil {
		closeBody(request.Body)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, apierrors.NewTooManyRequests("too many requests of the hub are waiting", retryAfter)
	}
	return l.next.RoundTrip(request)
}

// CloseIdleConnections closes the idle connections of the wrapped transport.
func (l *limited) CloseIdleConnections() {
	if closer, ok := l.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// WrappedRoundTripper returns the wrapped transport, for apimachinery.
func (l *limited) WrappedRoundTripper() http.RoundTripper { return l.next }

// resource holds what a request is about. All fields are empty if it is about none, as discovery; object
// is empty if it is about a collection.
type resource struct{ group, name, object, subresource string }

// resourceOf returns the resource of a path below base, the path of the API server.
func resourceOf(base, path string) resource {
	var r resource
	segments := strings.Split(strings.Trim(strings.TrimPrefix(path, base), "/"), "/")
	switch {
	case segments[0] == "api" && len(segments) > 2:
		segments = segments[2:]
	case segments[0] == "apis" && len(segments) > 3:
		r.group, segments = segments[1], segments[3:]
	default:
		return r
	}
	if segments[0] == "namespaces" && len(segments) > 2 && segments[2] != "status" && segments[2] != "finalize" {
		segments = segments[2:]
	}
	for i, field := range []*string{&r.name, &r.object, &r.subresource} {
		if i < len(segments) {
			*field = segments[i]
		}
	}
	return r
}
