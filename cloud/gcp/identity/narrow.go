package identity

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials/downscope"

	"github.com/shopfleet/shopfleet/cloud"
)

// leastRest is the minimum remaining lifetime of a downscoped token.
const leastRest = time.Minute

// Narrow creates a token that is limited to a rule and may be given to others. It is valid for at
// least half of life if possible, and for at least a minute in any case. The error is an *Error.
func (c *Credentials) Narrow(ctx context.Context, rule downscope.AccessBoundaryRule, life time.Duration) (*auth.Token, error) {
	for again := true; ; again = false {
		source, fresh, err := c.get(ctx)
		if err != nil {
			return nil, err
		}
		made, refusal := c.exchange(ctx, source, rule)
		lasts := func(least time.Duration) bool { return made.Expiry.Sub(c.clock.Now()) >= least }
		switch {
		case again && !fresh && (refusal.rejects() || refusal == nil && !lasts(life/2)):
			c.Drop(ctx, source.Value) // Google no longer accepts it, or it expires soon.
		case refusal != nil:
			return nil, refusal
		case !lasts(leastRest):
			return nil, &Error{Class: cloud.ClassTransient, Code: "TokenExpires", Message: "the token of the credentials is about to expire"}
		default:
			return made, nil
		}
	}
}

// rejects reports whether another token might be accepted.
func (e *Error) rejects() bool {
	return e != nil && (e.Class == cloud.ClassAuthExpired || e.Class == cloud.ClassInvalid)
}

// held is a token that is there already.
type held struct{ token *auth.Token }

// Token returns the token.
func (h held) Token(context.Context) (*auth.Token, error) { return h.token, nil }

// exchange asks the token service for a narrowed token.
func (c *Credentials) exchange(ctx context.Context, source *auth.Token, rule downscope.AccessBoundaryRule) (*auth.Token, *Error) {
	seen := &tokenAnswer{}
	narrowed, err := downscope.NewCredentials(&downscope.Options{
		Credentials: auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: held{source}}), Rules: []downscope.AccessBoundaryRule{rule},
		Client: c.client, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, describe(*seen, fmt.Errorf("narrowing a token: %w", err))
	}
	made, err := narrowed.Token(context.WithValue(ctx, tokenAnswerKey{}, seen))
	if err == nil && made.Value == "" {
		err = errNoToken
	}
	if err == nil {
		return made, nil
	}
	e := describe(*seen, err)
	if seen.status == http.StatusBadRequest && e.Code != "invalid_grant" {
		e.Class, e.Message = cloud.ClassInvalid, "the token service does not narrow the token of these credentials"
	}
	return nil, e
}
