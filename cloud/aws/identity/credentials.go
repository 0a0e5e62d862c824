package identity

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

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
func Connect(config cloud.Config) (*aws.CredentialsCache, error) {
	role := config.Spec.AWS.RoleARN
	var base aws.CredentialsProvider
	switch config.Spec.Credentials.Type {
	case v1.CredentialsFederated:
		return cached(federated{client: NewSTS(config, aws.AnonymousCredentials{}), config: config, role: role}), nil
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
		return cached(base), nil
	}
	return cached(assumed(config, cached(base))), nil
}

// expiryWindow is the minimum lifetime of credentials in use, so that they do not expire
// during a request.
const expiryWindow = time.Minute

// cached keeps the credentials of a provider until they expire.
func cached(provider aws.CredentialsProvider) *aws.CredentialsCache {
	return aws.NewCredentialsCache(bounded{provider}, func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = expiryWindow })
}

// exchangeTimeout is the timeout of an exchange, which is repeated once.
const exchangeTimeout = apierror.RequestTimeout / 2

// bounded limits the time of an exchange. Callers of the cache share it, and none of their
// contexts ends it. One that hangs is repeated: nothing comes of an exchange but credentials.
type bounded struct{ provider aws.CredentialsProvider }

func (b bounded) Retrieve(ctx context.Context) (aws.Credentials, error) {
	got, err := b.once(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		got, err = b.once(ctx)
	}
	if err != nil {
		return aws.Credentials{}, &apierror.CredentialsError{Err: err}
	}
	return got, nil
}

func (b bounded) once(ctx context.Context) (aws.Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	return b.provider.Retrieve(ctx)
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
