package watchtimeout

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/transport"
)

// Silence is the time without data after which a watch ends: a quarter more than the
// minute between two bookmarks.
const Silence = 75 * time.Second

// spread makes the limits of streams differ by up to this factor.
const spread = 0.15

// errSilent ends a silent stream. It is a timeout by all conventions, which client-go's
// reflectors do not log.
var errSilent error = &silentError{}

type silentError struct{}

// Error returns a constant text.
func (*silentError) Error() string { return "the watch was silent for too long" }

// Timeout implements net.Error.
func (*silentError) Timeout() bool { return true }

// Temporary implements net.Error.
func (*silentError) Temporary() bool { return true }

// Wrap returns a wrapper for rest.Config.Wrap that ends watches which ask for bookmarks
// and receive no data for silence, or up to 15 % longer. silence must be positive. Reading
// from an ended stream returns a net.Error whose Timeout is true.
func Wrap(silence time.Duration) transport.WrapperFunc {
	return func(next http.RoundTripper) http.RoundTripper {
		return &roundTripper{next: next, silence: silence}
	}
}

// roundTripper is safe for concurrent use.
type roundTripper struct {
	next    http.RoundTripper
	silence time.Duration
}

// RoundTrip sends one request.
func (r *roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	if !hasBookmarks(request) {
		return r.next.RoundTrip(request)
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	response, err := r.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	limit := wait.Jitter(r.silence, spread)
	response.Body = &stream{
		ReadCloser: response.Body, cancel: cancel, cause: func() error { return context.Cause(ctx) }, limit: limit,
		timer: time.AfterFunc(limit, func() { cancel(errSilent) }),
	}
	return response, nil
}

// CloseIdleConnections closes the idle connections of the wrapped transport.
func (r *roundTripper) CloseIdleConnections() {
	if closer, ok := r.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// WrappedRoundTripper returns the wrapped transport, for apimachinery.
func (r *roundTripper) WrappedRoundTripper() http.RoundTripper { return r.next }

// stream is the body of a watch. Its limit begins anew with all data that is read.
type stream struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
	// cause returns why the context of the request has ended.
	cause func() error
	limit time.Duration
	timer *time.Timer
}

// Read reads from the stream, and returns a timeout if the stream ended for its silence.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	switch {
	case err == nil:
		s.timer.Reset(s.limit)
	case errors.Is(s.cause(), errSilent):
		err = errSilent
	}
	return n, err
}

// Close closes the stream.
func (s *stream) Close() error {
	s.timer.Stop()
	err := s.ReadCloser.Close()
	s.cancel(nil)
	return err
}

func hasBookmarks(request *http.Request) bool {
	query := request.URL.Query()
	for _, parameter := range []string{"watch", "allowWatchBookmarks"} {
		if on, err := strconv.ParseBool(query.Get(parameter)); err != nil || !on {
			return false
		}
	}
	return true
}
