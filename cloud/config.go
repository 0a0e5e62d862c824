package cloud

import (
	"context"
	"net/http"

	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Config is what a session is made from. It is checked by the provider's Connect, which
// names the field of the CloudAccount that is wrong.
type Config struct {
	// Account is the name of the CloudAccount, for messages.
	Account string
	// Region is the provider's name of the region.
	Region string
	// Endpoint is where the API is, instead of the provider's own: a private endpoint,
	// a sovereign cloud, a test. Empty: the provider's.
	Endpoint string
	// Spec is the account's; credentials are those below, not the reference.
	Spec v1.CloudAccountSpec
	// Secret are the credentials of type Secret, by key; nil for the other types.
	Secret map[string][]byte
	// Token makes a short-lived token of the hub's ServiceAccount for an audience;
	// for credentials of type Federated.
	Token TokenSource
	// HTTP sends every request, those of the SDK's own token exchange too. Required.
	HTTP *http.Client
	// Clock tells the time. Required.
	Clock clock.Clock
}

// TokenSource returns a token for an audience, good for at least five minutes.
type TokenSource func(ctx context.Context, audience string) (string, error)

// Connect makes a session. It sends nothing; what is wrong with the account is said by
// Access.Identity, what is wrong with the configuration by an error of class Invalid.
type Connect func(ctx context.Context, config Config) (Session, error)

// Registry says how to connect to each provider.
type Registry map[v1.Provider]Connect
