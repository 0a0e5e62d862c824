package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials/externalaccount"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

const (
	scope = "https://www.googleapis.com/auth/cloud-platform"
	// exchangePath is the path at which the token service exchanges tokens.
	exchangePath = "/v1/token"
	// keyField is the key of the Secret.
	keyField = "serviceAccountKey"
	// jwtURN is Google's name for the type of the hub's token.
	jwtURN = "urn:ietf:params:oauth:token-type:jwt"
	// RequestTimeout is the timeout of a request, including those for its token.
	RequestTimeout = 30 * time.Second
)

// Credentials represents the identity of a session. It is safe for concurrent use.
type Credentials struct {
	name   func(ctx context.Context) string
	source auth.TokenProvider

	// client requests downscoped tokens.
	client *http.Client
	clock  clock.PassiveClock

	// turn guards token, also while a new one is requested.
	turn  chan struct{}
	token *auth.Token
}

func newCredentials(source auth.TokenProvider, name func(ctx context.Context) string) *Credentials {
	return &Credentials{source: source, name: name, turn: make(chan struct{}, 1)}
}

// Connect returns the credentials of an account, for an endpoint of the API. The
// transport sends the requests for tokens. The error names the invalid field.
func Connect(config cloud.Config, endpoint string, transport http.RoundTripper) (*Credentials, error) {
	client := &http.Client{Transport: tokenTransport(transport), CheckRedirect: NoRedirect, Timeout: RequestTimeout}
	c, err := choose(config, endpoint, client)
	if err != nil {
		return nil, err
	}
	exchange, _ := tokenServices(endpoint)
	service, err := url.Parse(exchange)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the token service: %w", err)
	}
	narrowing := *client
	narrowing.Transport = sentTo(service, client.Transport)
	c.client, c.clock = &narrowing, config.Clock
	return c, nil
}

// choose makes the credentials of a type.
func choose(config cloud.Config, endpoint string, client *http.Client) (*Credentials, error) {
	switch config.Spec.Credentials.Type {
	case v1.CredentialsSecret:
		return keyCredentials(config.Secret[keyField], endpoint, client)
	case v1.CredentialsFederated:
		return federatedCredentials(config, endpoint, client)
	case v1.CredentialsAmbient:
		return ambientCredentials(client, config.Clock), nil
	default:
		return nil, errors.New("spec.credentials.type is unknown: give Ambient, Federated or Secret")
	}
}

// Name returns the name of the identity: an e-mail address if it is known.
func (c *Credentials) Name(ctx context.Context) string { return c.name(ctx) }

// Get returns a token, and whether it is new. The error is an *Error.
func (c *Credentials) Get(ctx context.Context) (token string, fresh bool, err error) {
	found, fresh, err := c.get(ctx)
	if err != nil {
		return "", false, err
	}
	return found.Value, fresh, nil
}

func (c *Credentials) get(ctx context.Context) (token *auth.Token, fresh bool, err error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, false, describe(tokenAnswer{}, ctx.Err())
	}
	if c.token.IsValid() {
		return c.token, false, nil
	}
	seen := &tokenAnswer{}
	made, err := c.source.Token(context.WithValue(ctx, tokenAnswerKey{}, seen))
	if err == nil && (made == nil || made.Value == "") {
		err = errNoToken
	}
	if err != nil {
		return nil, false, describe(*seen, err)
	}
	c.token = made
	return made, true, nil
}

// Drop forgets a token that was refused. When the context ends first, the token is
// refused another time.
func (c *Credentials) Drop(ctx context.Context, value string) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return
	}
	if c.token != nil && c.token.Value == value {
		c.token = nil
	}
}

// Loopback reports whether a URL is on this machine.
func Loopback(u *url.URL) bool {
	switch u.Hostname() {
	case "127.0.0.1", "::1", "localhost":
		return true
	default:
		return false
	}
}

// keyFile holds the fields of a service account's key that the hub reads.
type keyFile struct {
	Type           string `json:"type"`
	ClientEmail    string `json:"client_email"`
	PrivateKey     string `json:"private_key"`
	PrivateKeyID   string `json:"private_key_id"`
	TokenURI       string `json:"token_uri"`
	UniverseDomain string `json:"universe_domain"`
}

func keyCredentials(text []byte, endpoint string, client *http.Client) (*Credentials, error) {
	fault := func(what string) error {
		return fmt.Errorf("%s in the Secret of spec.credentials.secretRef %s", keyField, what)
	}
	if len(text) == 0 {
		return nil, fault("is missing")
	}
	var key keyFile
	if json.Unmarshal(text, &key) != nil {
		return nil, fault("is not JSON")
	}
	switch {
	case key.Type != "service_account":
		return nil, fault("is not the key of a service account: its type must be service_account")
	case !matches(`^[A-Za-z0-9._%+-]{1,128}@[A-Za-z0-9.-]{1,128}$`, key.ClientEmail) || key.PrivateKey == "":
		return nil, fault("has no client_email or no private_key")
	case key.UniverseDomain != "" && key.UniverseDomain != "googleapis.com":
		return nil, fault("is of another universe than googleapis.com, which is not supported")
	case key.TokenURI == "":
		key.TokenURI = "https://oauth2.googleapis.com/token"
	case !tokenURLAllowed(key.TokenURI, endpoint):
		return nil, fault("has a token_uri that is not https on googleapis.com")
	}
	source, err := auth.New2LOTokenProvider(&auth.Options2LO{
		Email: key.ClientEmail, PrivateKey: []byte(key.PrivateKey), PrivateKeyID: key.PrivateKeyID,
		TokenURL: key.TokenURI, Scopes: []string{scope}, Client: client, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, fault("cannot be used")
	}
	return newCredentials(source, func(context.Context) string { return key.ClientEmail }), nil
}

// tokenURLAllowed judges where a key file wants its signatures sent.
func tokenURLAllowed(text, endpoint string) bool {
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.Fragment != "" || u.RawQuery != "" {
		return false
	}
	if u.Scheme == "https" && (u.Port() == "" || u.Port() == "443") && strings.HasSuffix(u.Hostname(), ".googleapis.com") {
		return true
	}
	base, err := url.Parse(endpoint)
	return err == nil && Loopback(base) && Loopback(u) && (u.Scheme == "http" || u.Scheme == "https")
}

// hubToken gives the SDK the hub's token for an audience.
type hubToken struct {
	audience string
	token    cloud.TokenSource
}

// SubjectToken returns a token for Google's token service.
func (h hubToken) SubjectToken(ctx context.Context, _ *externalaccount.RequestOptions) (string, error) {
	token, err := h.token(ctx, h.audience)
	if err != nil {
		return "", &hubTokenError{cause: err}
	}
	return token, nil
}

// exchanged exchanges the hub's token. The SDK's credentials cache their token, even one
// that was refused, so new ones are created each time.
type exchanged struct{ options *externalaccount.Options }

// Token returns a token that Google's token service has just made.
func (e exchanged) Token(ctx context.Context) (*auth.Token, error) {
	source, err := externalaccount.NewCredentials(e.options)
	if err != nil {
		return nil, fmt.Errorf("creating credentials: %w", err)
	}
	return source.Token(ctx)
}

// tokenServices returns where tokens are exchanged, and where one acts as a service
// account: at Google, but for an endpoint on this machine.
func tokenServices(endpoint string) (exchange, impersonate string) {
	if u, err := url.Parse(endpoint); err == nil && Loopback(u) {
		return endpoint, endpoint
	}
	return "https://sts.googleapis.com", "https://iamcredentials.googleapis.com"
}

func federatedCredentials(config cloud.Config, endpoint string, client *http.Client) (*Credentials, error) {
	account := config.Spec.GCP
	switch {
	case !matches(`^projects/[0-9]+/locations/global/workloadIdentityPools/[a-z0-9-]{4,32}/providers/[a-z0-9-]{4,32}$`, account.WorkloadIdentityProvider):
		return nil, errors.New("spec.gcp.workloadIdentityProvider is no provider of a workload identity pool")
	case account.ServiceAccount != "" && !matches(`^[a-z0-9-]+@[a-z0-9.-]+\.gserviceaccount\.com$`, account.ServiceAccount):
		return nil, errors.New("spec.gcp.serviceAccount is no e-mail address of a service account")
	case config.Token == nil:
		return nil, errors.New("spec.credentials.type is Federated, and the hub has no source of tokens")
	}
	exchange, impersonate := tokenServices(endpoint)
	options := &externalaccount.Options{
		Audience: "//iam.googleapis.com/" + account.WorkloadIdentityProvider, SubjectTokenType: jwtURN,
		Scopes: []string{scope}, Client: client, Logger: slog.New(slog.DiscardHandler),
	}
	options.TokenURL = exchange + exchangePath
	options.SubjectTokenProvider = hubToken{audience: options.Audience, token: config.Token}
	name := "principal of " + account.WorkloadIdentityProvider
	if account.ServiceAccount != "" {
		name = account.ServiceAccount
		options.ServiceAccountImpersonationURL = impersonate + "/v1/projects/-/serviceAccounts/" + name + ":generateAccessToken"
	}
	return newCredentials(exchanged{options}, func(context.Context) string { return name }), nil
}

func matches(pattern, text string) bool {
	ok, err := regexp.MatchString(pattern, text)
	return err == nil && ok
}
