package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// errForeignHost is returned for a request to another host than the member's.
var errForeignHost = errors.New("request to a host other than the member's API server is not allowed")

// errDeadline is the cause of requests that exceeded their deadline. It is a timeout by
// all conventions: net.Error, context.DeadlineExceeded.
var errDeadline error = &deadlineError{}

type deadlineError struct{}

// Error returns a constant text.
func (*deadlineError) Error() string { return "no answer before the deadline" }

// Timeout implements net.Error.
func (*deadlineError) Timeout() bool { return true }

// Temporary implements net.Error.
func (*deadlineError) Temporary() bool { return true }

// Is reports whether target is context.DeadlineExceeded.
func (*deadlineError) Is(target error) bool { return target == context.DeadlineExceeded }

// deadlines is a http.RoundTripper that limits each request to a duration. Watches are
// unlimited once their headers have arrived, and for lists the duration begins anew with all
// data that is read: a large one over a slow network may take minutes. It is safe for
// concurrent use.
type deadlines struct {
	next   http.RoundTripper
	server *url.URL
	limit  time.Duration
	// received counts responses and the bytes of their bodies.
	received atomic.Int64
}

// RoundTrip sends one request. It returns errForeignHost without sending anything if the
// request is for another host.
func (d *deadlines) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host != d.server.Host {
		closeBody(request.Body)
		return nil, errForeignHost
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	timer := time.AfterFunc(d.limit, func() { cancel(errDeadline) })
	end := func() {
		timer.Stop()
		cancel(nil)
	}
	response, err := d.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		err = explain(ctx, err)
		end()
		return nil, err
	}
	d.received.Add(1)
	progress := func() {}
	switch {
	case response.StatusCode == http.StatusSwitchingProtocols:
		// The body is now the connection; it ends with the request's own context.
		timer.Stop()
		return response, nil
	case isWatch(request) && response.StatusCode == http.StatusOK:
		timer.Stop()
	case d.isList(request):
		progress = func() { timer.Reset(d.limit) }
	}
	response.Body = &body{ReadCloser: response.Body, received: &d.received, progress: progress, explain: explainer(ctx), end: end}
	return response, nil
}

// CloseIdleConnections closes the idle connections of the wrapped transport.
func (d *deadlines) CloseIdleConnections() {
	if closer, ok := d.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// WrappedRoundTripper returns the wrapped transport, for apimachinery.
func (d *deadlines) WrappedRoundTripper() http.RoundTripper { return d.next }

// explain replaces a cancellation by errDeadline if the deadline caused it.
func explain(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errDeadline) {
		return errDeadline
	}
	return err
}

func explainer(ctx context.Context) func(error) error {
	return func(err error) error { return explain(ctx, err) }
}

// body cancels the context of the request when the response is closed.
type body struct {
	io.ReadCloser
	received *atomic.Int64
	// progress is called when data was read.
	progress func()
	explain  func(error) error
	end      func()
}

// Read reads from the response, and returns errDeadline if the deadline ended it.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.received.Add(int64(n))
	switch {
	case err == nil:
		b.progress()
	case !errors.Is(err, io.EOF):
		err = b.explain(err)
	}
	return n, err
}

// Close closes the response and stops the timer of its deadline.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}

func closeBody(b io.Closer) {
	if b != nil {
		_ = b.Close()
	}
}

// isList reports whether the response is a collection.
func (d *deadlines) isList(request *http.Request) bool {
	r := resourceOf(strings.TrimSuffix(d.server.Path, "/"), request.URL.Path)
	return request.Method == http.MethodGet && r.name != "" && r.object == ""
}

// isWatch reports whether the response is a stream that the server does not end.
func isWatch(request *http.Request) bool {
	query := request.URL.Query()
	for _, parameter := range []string{"watch", "follow"} {
		if on, err := strconv.ParseBool(query.Get(parameter)); err == nil && on {
			return true
		}
	}
	return false
}
