package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"cloud.google.com/go/auth"

	"github.com/shopfleet/shopfleet/cloud"
)

const (
	accessURN = "urn:ietf:params:oauth:token-type:access_token"
	// leastRest is the minimum remaining lifetime of a downscoped token.
	leastRest = time.Minute
)

// Boundary bounds the permissions of a narrowed token. It adds none to the permissions of
// the credentials.
type Boundary struct {
	// Resource is a full name: //storage.googleapis.com/projects/_/buckets/B.
	Resource string
	// Role is the role whose permissions are left: roles/storage.objectViewer.
	Role string
	// Condition is an expression of IAM conditions, of at most 2048 characters.
	Condition string
}

// Token may be given to others.
type Token struct {
	Value     string
	ExpiresAt time.Time
}

// Narrow creates a token that is limited to a boundary. It is valid for at least half of
// life if possible, and for at least a minute in any case. The error is an *Error.
func (c *Credentials) Narrow(ctx context.Context, b Boundary, life time.Duration) (Token, error) {
	for again := true; ; again = false {
		source, fresh, err := c.get(ctx)
		if err != nil {
			return Token{}, err
		}
		made, refusal := c.exchange(ctx, source, b)
		rest := made.ExpiresAt.Sub(c.clock.Now())
		switch {
		case again && !fresh && (refusal.rejects() || refusal == nil && rest < life/2):
			c.Drop(ctx, source.Value) // Google no longer accepts it, or it expires soon.
		case refusal != nil:
			return Token{}, refusal
		case rest < leastRest:
			return Token{}, &Error{Class: cloud.ClassTransient, Code: "TokenExpires", Message: "the token of the credentials is about to expire"}
		default:
			return made, nil
		}
	}
}

// rejects reports whether another token might be accepted.
func (e *Error) rejects() bool {
	return e != nil && (e.Class == cloud.ClassAuthExpired || e.Class == cloud.ClassInvalid)
}

// options encodes a boundary for requests to the token service.
func (b Boundary) options() ([]byte, error) {
	type condition struct {
		Expression string `json:"expression"`
	}
	type rule struct {
		AvailableResource     string    `json:"availableResource"`
		AvailablePermissions  []string  `json:"availablePermissions"`
		AvailabilityCondition condition `json:"availabilityCondition"`
	}
	type rules struct {
		AccessBoundaryRules []rule `json:"accessBoundaryRules"`
	}
	text, err := json.Marshal(map[string]rules{"accessBoundary": {[]rule{{
		AvailableResource: b.Resource, AvailablePermissions: []string{"inRole:" + b.Role}, AvailabilityCondition: condition{b.Condition},
	}}}})
	if err != nil {
		return nil, fmt.Errorf("writing a boundary: %w", err)
	}
	return text, nil
}

// exchange asks the token service for a narrowed token.
func (c *Credentials) exchange(ctx context.Context, source *auth.Token, b Boundary) (Token, *Error) {
	seen, asked := &tokenAnswer{}, c.clock.Now()
	err := c.sendExchange(context.WithValue(ctx, tokenAnswerKey{}, seen), source.Value, b)
	if err == nil {
		var made Token
		if made, err = seen.narrowed(asked, source.Expiry); err == nil {
			return made, nil
		}
	}
	e := describe(*seen, err)
	if seen.status == http.StatusBadRequest && e.Code != "invalid_grant" {
		e.Class, e.Message = cloud.ClassInvalid, "the token service does not narrow the token of these credentials"
	}
	return Token{}, e
}

// sendExchange sends the request; the transport keeps the response.
func (c *Credentials) sendExchange(ctx context.Context, source string, b Boundary) error {
	options, err := b.options()
	if err != nil {
		return err
	}
	form := url.Values{
		"grant_type":           {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"requested_token_type": {accessURN},
		"subject_token_type":   {accessURN},
		"subject_token":        {source},
		"options":              {string(options)},
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.exchangeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("creating a request for a token: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := c.client.Do(r)
	if err != nil {
		return fmt.Errorf("asking for a token: %w", err)
	}
	return response.Body.Close()
}

// narrowed parses a response whose lifetime counts from the request. Google omits it if
// the token expires with the source token.
func (a tokenAnswer) narrowed(asked, sourceExpires time.Time) (Token, error) {
	var body struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
	}
	if a.status != http.StatusOK || json.Unmarshal(a.body, &body) != nil || body.AccessToken == "" || body.ExpiresIn < 0 {
		return Token{}, errNoToken
	}
	if body.ExpiresIn == 0 {
		return Token{Value: body.AccessToken, ExpiresAt: sourceExpires}, nil
	}
	return Token{Value: body.AccessToken, ExpiresAt: asked.Add(time.Duration(body.ExpiresIn) * time.Second)}, nil
}
