package identity

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/aws/apierror"
)

// The keys of a Secret with credentials.
const (
	secretKeyID = "accessKeyID"
	secretKey   = "secretAccessKey"
	secretToken = "sessionToken"
)

// audience is the audience of the hub's ServiceAccount tokens.
const audience = "sts.amazonaws.com"

// Connect creates the credentials of an account. It sends nothing until they are
// needed. Errors are of class Invalid and name the field of the CloudAccount.
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
	return cached(config, assumed(config, cached(config, base))), nil
}

// expiryWindow is the minimum lifetime of credentials in use, so that they do not expire
// during a request.
const expiryWindow = time.Minute

// Credentials are kept until they expire. A caller that finds none requests them with
// its own context. With the SDK's cache it would wait for the request of another caller, whose
// context may be cancelled. Credentials is safe for concurrent use.
type Credentials struct {
	provider aws.CredentialsProvider
	clock    clock.PassiveClock

	mu   sync.Mutex
	kept aws.Credentials
}

func cached(config cloud.Config, provider aws.CredentialsProvider) *Credentials {
	return &Credentials{provider: provider, clock: config.Clock}
}

// Retrieve returns cached credentials that are valid for another minute, or new ones,
// within a bounded time.
func (c *Credentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	kept := c.keep(aws.Credentials{})
	if last := c.clock.Now().Add(expiryWindow); kept.HasKeys() && (!kept.CanExpire || last.Before(kept.Expires)) {
		return kept, nil
	}
	ctx, cancel := context.WithTimeout(ctx, apierror.RequestTimeout)
	defer cancel()
	got, err := c.provider.Retrieve(ctx)
	if err != nil {
		return aws.Credentials{}, &apierror.CredentialsError{Err: err}
	}
	return c.keep(got), nil
}

// keep caches credentials, if there are any, and returns the cached ones.
func (c *Credentials) keep(got aws.Credentials) aws.Credentials {
	c.mu.Lock()
	defer c.mu.Unlock()
	if got.HasKeys() {
		c.kept = got
	}
	return c.kept
}

// Forget clears the cache.
func (c *Credentials) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = aws.Credentials{}
}

// federated exchanges a token of the hub's ServiceAccount for a role.
type federated struct {
	client *sts.Client
	config cloud.Config
	role   string
}

func (f federated) Retrieve(ctx context.Context) (aws.Credentials, error) {
	token := tokenFunc(func() ([]byte, error) {
		token, err := f.config.Token(ctx, audience)
		return []byte(token), err
	})
	return stscreds.NewWebIdentityRoleProvider(f.client, f.role, token, func(o *stscreds.WebIdentityRoleOptions) {
		o.RoleSessionName = sessionName(f.config)
	}).Retrieve(ctx)
}

// tokenFunc returns a token for one exchange; the SDK calls it without a context.
type tokenFunc func() ([]byte, error)

func (f tokenFunc) GetIdentityToken() ([]byte, error) { return f() }

// assumed returns the credentials of a role that it assumes with other credentials.
func assumed(config cloud.Config, base aws.CredentialsProvider) aws.CredentialsProvider {
	return stscreds.NewAssumeRoleProvider(NewSTS(config, base), config.Spec.AWS.RoleARN, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName, o.Duration = sessionName(config), time.Hour
		if id := config.Spec.AWS.ExternalID; id != "" {
			o.ExternalID = &id
		}
	})
}

// sessionName returns the session name that CloudTrail records, at most 64 characters.
func sessionName(config cloud.Config) string {
	name := "shopfleet-" + config.Account
	return name[:min(len(name), 64)]
}
