package gcp

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/option"

	"github.com/shopfleet/shopfleet/cloud/gcp/apierror"
	"github.com/shopfleet/shopfleet/cloud/gcp/identity"
)

// call is one request to the API: how its client is made, and how it is sent.
type call[C, R any] struct {
	op     string
	client func(context.Context, ...option.ClientOption) (C, error)
	send   func(context.Context, C, ...gax.CallOption) (R, error)
	// mutates reports whether a lost response may hide a change.
	mutates bool
	// makes reports whether it creates an object, for which Google has separate limits.
	makes bool
}

// do sends one request. The error is a *cloud.Error.
func do[C, R any](ctx context.Context, s *session, c call[C, R]) (R, apierror.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, identity.RequestTimeout)
	defer cancel()
	var seen apierror.Answer
	bound := s.credentials.Client(ctx, s.http, func(r *http.Response) { seen = apierror.Of(r) })
	client, err := c.client(ctx, option.WithHTTPClient(bound), option.WithEndpoint(s.endpoint), option.WithLogger(slog.New(slog.DiscardHandler)))
	var result R
	if err == nil {
		// The caller repeats, by class.
		result, err = c.send(ctx, client, gax.WithRetry(func() gax.Retryer { return nil }))
	}
	if err != nil {
		return result, seen, apierror.Classify(apierror.Failure{Op: c.op, Mutates: c.mutates, Makes: c.makes, Answer: seen, Cause: err})
	}
	return result, seen, nil
}
