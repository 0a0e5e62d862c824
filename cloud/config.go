package cloud

import (
	"context"
	"net/http"

	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Config configures a Session or a bucket. The provider's Connect validates it; its error names
// the invalid field of the CloudAccount.
type Config struct {
	// Account is the name of the CloudAccount. It appears in messages.
	Account string
	// Region is the provider's name of the region.
	Region string
	// Endpoint overrides the URL of the provider's API, for private endpoints, sovereign
	// clouds and tests. Empty selects the provider's own.
	Endpoint string
	// Spec is the spec of the CloudAccount. Its reference to a Secret is resolved in Secret.
	Spec v1.CloudAccountSpec
	// Secret holds the data of the Secret for credentials of type Secret, nil otherwise.
	Secret map[string][]byte
	// Token issues short-lived tokens of the hub's ServiceAccount. Required for credentials
	// of type Federated.
	Token TokenSource
	// HTTP sends every request, including the token exchanges of the SDK. Required.
	HTTP *http.Client
	// Clock provides the current time. Required.
	Clock clock.Clock
}

// TokenSource returns a token for an audience that is valid for at least five minutes.
type TokenSource func(ctx context.Context, audience string) (string, error)

// Connect creates a Session without sending a request. An invalid configuration is an error of
// class Invalid; invalid credentials are reported by Access.Identity.
type Connect func(ctx context.Context, config Config) (Session, error)

// Registry maps each provider to its Connect function.
type Registry map[v1.Provider]Connect
