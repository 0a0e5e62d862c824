package gcp

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/option"

	"github.com/shopfleet/shopfleet/cloud/gcp/identity"
)

// maxAnswer is how much of an answer is read; a page of 500 snapshots has 2 MiB.
const maxAnswer = 32 << 20

// answer is what an answer told beside its body.
type answer struct {
	status int
	header http.Header
}

// date is the server's clock, or zero.
func (a answer) date() time.Time {
	at, err := http.ParseTime(a.header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return at
}

// call is one request to the API: how its client is made, and how it is sent.
type call[C, R any] struct {
	op     string
	client func(context.Context, ...option.ClientOption) (C, error)
	send   func(context.Context, C, ...gax.CallOption) (R, error)
	// mutates tells that something may have changed when the answer is lost.
	mutates bool
	// makes tells that it makes something, for which Google has limits of its own.
	makes bool
}

// do sends one request. The error is a *cloud.Error.
func do[C, R any](ctx context.Context, s *session, c call[C, R]) (R, answer, error) {
	ctx, cancel := context.WithTimeout(ctx, identity.RequestTimeout)
	defer cancel()
	var seen answer
	bound := &http.Client{CheckRedirect: identity.NoRedirect, Transport: identity.RoundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := s.authorized(r.WithContext(ctx))
		if err == nil {
			seen = answer{status: response.StatusCode, header: response.Header}
		}
		return response, err
	})}
	client, err := c.client(ctx, option.WithHTTPClient(bound), option.WithEndpoint(s.endpoint), option.WithLogger(slog.New(slog.DiscardHandler)))
	var result R
	if err == nil {
		// The caller repeats, by class.
		result, err = c.send(ctx, client, gax.WithRetry(func() gax.Retryer { return nil }))
	}
	if err != nil {
		return result, seen, classify(failure{op: c.op, mutates: c.mutates, makes: c.makes, answer: seen, cause: err})
	}
	return result, seen, nil
}

// authorized sends a request with a token. A token that is refused is forgotten, and a
// request that changes nothing is sent once more with another.
func (s *session) authorized(r *http.Request) (*http.Response, error) {
	for again := true; ; again = false {
		token, fresh, err := s.credentials.Get(r.Context())
		if err != nil {
			return nil, err
		}
		out := r.Clone(r.Context())
		out.Header.Set("Authorization", "Bearer "+token)
		response, err := s.http.RoundTrip(out)
		if err != nil {
			return nil, fmt.Errorf("sending the request: %w", err)
		}
		if response.StatusCode == http.StatusUnauthorized {
			s.credentials.Drop(r.Context(), token)
			if again && !fresh && r.Method == http.MethodGet {
				_ = response.Body.Close()
				continue
			}
		}
		response.Body = limited{io.LimitReader(response.Body, maxAnswer), response.Body}
		return response, nil
	}
}

// limited is the body of an answer up to a bound.
type limited struct {
	io.Reader
	io.Closer
}
