package identity

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// The keys of a Secret with credentials.
const (
	secretKeyID = "accessKeyID"
	secretKey   = "secretAccessKey"
	secretToken = "sessionToken"
)

// audience is whom the tokens of the hub's ServiceAccount are for.
const audience = "sts.amazonaws.com"

// Connect makes the credentials of an account. Nothing is sent until they are needed.
// Errors are of class Invalid and name the field of the CloudAccount.
func Connect(config cloud.Config) (*Credentials, error) {
	role := config.Spec.AWS.RoleARN
	var base aws.CredentialsProvider
	switch config.Spec.Credentials.Type {
	case v1.CredentialsFederated:
		return cached(config, federated{client: NewSTS(config, aws.AnonymousCredentials{}), config: config, role: role}), nil
	case v1.CredentialsSecret:
		text := func(key string) string { return strings.TrimSpace(string(config.Secret[key])) }
		base = credentials.NewStaticCredentialsProvider(text(secretKeyID), text(secretKey), text(secretToken))
	default:
		ambient, err := ambientOf(config)
		if err != nil {
			return nil, err
		}
		base = ambient
	}
	if role == "" {
		return cached(config, base), nil
	}
	return cached(config, assumed{client: NewSTS(config, cached(config, base)), config: config}), nil
}

// expiryWindow is how long before they expire credentials are not used any more, so that
// they do not on the way.
const expiryWindow = time.Minute

// Credentials are kept until they expire. Who asks while there are none gets them with
// its own context: somebody else's that is cancelled or hangs is no matter of its own, as
// it would be with the SDK's cache. Methods may be called at the same time.
type Credentials struct {
	provider aws.CredentialsProvider
	clock    clock.PassiveClock

	mu   sync.Mutex
	kept aws.Credentials
}

func cached(config cloud.Config, provider aws.CredentialsProvider) *Credentials {
	return &Credentials{provider: provider, clock: config.Clock}
}

// Retrieve returns what is kept and good for another minute, or else gets it. The time for
// that is bounded.
func (c *Credentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	kept := c.keep(aws.Credentials{})
	if last := c.clock.Now().Add(expiryWindow); kept.HasKeys() && (!kept.CanExpire || last.Before(kept.Expires)) {
		return kept, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	got, err := c.provider.Retrieve(ctx)
	if err != nil {
		return aws.Credentials{}, &Error{err}
	}
	return c.keep(got), nil
}

// keep keeps credentials, if there are any, and returns what is kept.
func (c *Credentials) keep(got aws.Credentials) aws.Credentials {
	c.mu.Lock()
	defer c.mu.Unlock()
	if got.HasKeys() {
		c.kept = got
	}
	return c.kept
}

// Forget lets the next one who asks get them anew.
func (c *Credentials) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = aws.Credentials{}
}

// Error is an error on the way to credentials: the request that needs them was not sent.
type Error struct{ err error }

func (e *Error) Error() string { return "getting credentials: " + e.err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// federated exchanges a token of the hub's ServiceAccount for a role.
type federated struct {
	client *sts.Client
	config cloud.Config
	role   string
}

func (f federated) Retrieve(ctx context.Context) (aws.Credentials, error) {
	token, err := f.config.Token(ctx, audience)
	if err != nil {
		return aws.Credentials{}, fmt.Errorf("making a token for %q: %w", audience, err)
	}
	out, err := f.client.AssumeRoleWithWebIdentity(ctx, &sts.AssumeRoleWithWebIdentityInput{
		RoleArn: aws.String(f.role), RoleSessionName: sessionName(f.config), WebIdentityToken: aws.String(token),
	})
	if err != nil {
		return aws.Credentials{}, err
	}
	return lent(out.Credentials)
}

// assumed takes a role on top of other credentials.
type assumed struct {
	client *sts.Client
	config cloud.Config
}

func (a assumed) Retrieve(ctx context.Context) (aws.Credentials, error) {
	in := &sts.AssumeRoleInput{RoleArn: aws.String(a.config.Spec.AWS.RoleARN), RoleSessionName: sessionName(a.config)}
	if id := a.config.Spec.AWS.ExternalID; id != "" {
		in.ExternalId = aws.String(id)
	}
	out, err := a.client.AssumeRole(ctx, in)
	if err != nil {
		return aws.Credentials{}, err
	}
	return lent(out.Credentials)
}

// sessionName is what the account's trail calls us: at most 64 characters.
func sessionName(config cloud.Config) *string {
	name := "shopfleet-" + config.Account
	return aws.String(name[:min(len(name), 64)])
}

func lent(c *types.Credentials) (aws.Credentials, error) {
	if c == nil || aws.ToString(c.AccessKeyId) == "" || aws.ToString(c.SecretAccessKey) == "" {
		return aws.Credentials{}, ErrAnswer
	}
	return aws.Credentials{
		AccessKeyID: *c.AccessKeyId, SecretAccessKey: *c.SecretAccessKey, SessionToken: aws.ToString(c.SessionToken),
		CanExpire: c.Expiration != nil, Expires: aws.ToTime(c.Expiration), Source: "shopfleet",
	}, nil
}
