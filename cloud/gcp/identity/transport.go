package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
)

// busyWait is when to ask again after too many requests for tokens.
const busyWait = 5 * time.Second

var errNoToken = errors.New("the answer has no token")

// RoundTripper is a function that sends requests.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip sends a request.
func (t RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// NoRedirect refuses to follow redirects: their targets must not receive tokens or
// signatures.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// sentTo sends requests to a token service, also those of SDK code that knows Google's only.
func sentTo(service *url.URL, next http.RoundTripper) http.RoundTripper {
	return RoundTripper(func(r *http.Request) (*http.Response, error) {
		out := r.Clone(r.Context())
		out.URL.Scheme, out.URL.Host, out.Host = service.Scheme, service.Host, service.Host
		out.URL.Path = strings.TrimSuffix(service.Path, "/") + r.URL.Path
		return next.RoundTrip(out)
	})
}

// tokenAnswer is the response to the last request for a token.
type tokenAnswer struct {
	status int
	body   []byte
}

type tokenAnswerKey struct{}

// tokenTransport keeps the last response to a request for a token.
func tokenTransport(next http.RoundTripper) http.RoundTripper {
	return RoundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		seen, ok := r.Context().Value(tokenAnswerKey{}).(*tokenAnswer)
		if err != nil || !ok {
			return response, err
		}
		body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		_ = response.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("reading the answer of the token service: %w", err)
		}
		*seen = tokenAnswer{status: response.StatusCode, body: body}
		response.Body = io.NopCloser(bytes.NewReader(body))
		return response, nil
	})
}

// Error is the reason why there is no token; the request that needed it was not sent. It
// contains a short code only, nothing else of the request or response.
type Error struct {
	Class   cloud.Class
	Code    string
	Message string
	// RetryAfter is when to ask again at the earliest; 0 is up to the caller.
	RetryAfter time.Duration
	cause      error
}

func (e *Error) Error() string { return "getting a token: " + e.Message }

// Unwrap returns the cause, where it is not the SDK's own.
func (e *Error) Unwrap() error { return e.cause }

// hubTokenError is the error of the hub's own token.
type hubTokenError struct{ cause error }

func (e *hubTokenError) Error() string { return "asking for the hub's token" }

// Unwrap returns the cause.
func (e *hubTokenError) Unwrap() error { return e.cause }

// describe returns the reason why there is no token.
func describe(answer tokenAnswer, cause error) *Error {
	e := &Error{Class: cloud.ClassTransient, Code: answer.code(), Message: "the token service does not answer as it should"}
	var hub *hubTokenError
	var unanswered *url.Error
	switch status := answer.status; {
	case errors.Is(cause, context.Canceled):
		e.Message, e.cause = "the call was given up", context.Canceled
	case errors.As(cause, &hub):
		e.Code, e.Message, e.cause = "HubToken", "the hub cannot get a token of its own ServiceAccount", hub.cause
	case errors.Is(cause, context.DeadlineExceeded):
		e.Message, e.cause = "the token service did not answer in time", context.DeadlineExceeded
	case status == http.StatusTooManyRequests:
		e.Class, e.Message, e.RetryAfter = cloud.ClassThrottled, "too many requests for tokens", busyWait
	case status == http.StatusForbidden:
		e.Class, e.Message = cloud.ClassDenied, "no token may be got with these credentials"
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		e.Class, e.Message = cloud.ClassAuthExpired, "the credentials are not accepted"
	case status == 0 && !errors.As(cause, &unanswered):
		e.Class, e.Message = cloud.ClassAuthExpired, "the credentials cannot be used"
	}
	return e
}

// code returns the code of an error response, if it is well-formed. The description is
// omitted, because it may repeat the request.
func (a tokenAnswer) code() string {
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	if a.status < http.StatusBadRequest || json.Unmarshal(a.body, &body) != nil {
		return ""
	}
	var short string
	var long struct {
		Status string `json:"status"`
	}
	if json.Unmarshal(body.Error, &short) != nil && json.Unmarshal(body.Error, &long) == nil {
		short = long.Status
	}
	if !matches(`^[A-Za-z_]{1,64}$`, short) {
		return ""
	}
	return short
}
