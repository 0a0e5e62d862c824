package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// errElsewhere tells that a request was for another host than the member's.
var errElsewhere = errors.New("request to another host than the member's is refused")

// errDeadline is why a request was cancelled. It reads as a timeout everywhere.
var errDeadline error = &deadlineError{}

type deadlineError struct{}

// Error says that there was no answer in time.
func (*deadlineError) Error() string { return "no answer before the deadline" }

// Timeout makes it a net.Error's timeout.
func (*deadlineError) Timeout() bool { return true }

// Temporary completes net.Error.
func (*deadlineError) Temporary() bool { return true }

// Is makes it a context.DeadlineExceeded.
func (*deadlineError) Is(target error) bool { return target == context.DeadlineExceeded }

// deadlines gives each request a deadline. A watch goes on for as long as its
// connection lives, once its headers are there.
type deadlines struct {
	next  http.RoundTripper
	host  string
	limit time.Duration
}

// RoundTrip does one request.
func (d *deadlines) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host != d.host {
		closeBody(request.Body)
		return nil, errElsewhere
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
	switch {
	case response.StatusCode == http.StatusSwitchingProtocols:
		// The body is now the connection; it ends with the request's own context.
		timer.Stop()
		return response, nil
	case isWatch(request) && response.StatusCode == http.StatusOK:
		timer.Stop()
	}
	response.Body = &body{ReadCloser: response.Body, explain: explainer(ctx), end: end}
	return response, nil
}

// CloseIdleConnections lets http.Client reach the connections below.
func (d *deadlines) CloseIdleConnections() {
	if closer, ok := d.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// WrappedRoundTripper lets apimachinery look below.
func (d *deadlines) WrappedRoundTripper() http.RoundTripper { return d.next }

// explain puts our deadline in the place of the cancellation that it caused.
func explain(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errDeadline) {
		return errDeadline
	}
	return err
}

func explainer(ctx context.Context) func(error) error {
	return func(err error) error { return explain(ctx, err) }
}

// body ends the request's context with the response.
type body struct {
	io.ReadCloser
	explain func(error) error
	end     func()
}

// Read reads, and says so when it was the deadline that ended it.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.explain(err)
	}
	return n, err
}

// Close closes the response and releases its timer.
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

// isWatch tells whether the response is a stream that only the client ends.
func isWatch(request *http.Request) bool {
	query := request.URL.Query()
	for _, parameter := range []string{"watch", "follow"} {
		if on, err := strconv.ParseBool(query.Get(parameter)); err == nil && on {
			return true
		}
	}
	return false
}
