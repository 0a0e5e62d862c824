package identity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud"
)

// early is the minimum remaining lifetime of a token in use.
const early = 5 * time.Minute

// Bearer authorizes requests. With the library's policy, a request waits for the token of another
// one beyond its own deadline, and the token is sent to any host that a response names.
type Bearer struct {
	credential azcore.TokenCredential
	scope      string
	hosts      []string
	clock      clock.PassiveClock
	// turn is taken by the request that reads or replaces the token. It is a channel so that
	// waiting for one ends with the request that waits.
	turn  chan struct{}
	token azcore.AccessToken
}

// Client returns a client that does not follow redirects: their target must not receive a
// token or a secret.
func Client(client *http.Client) *http.Client {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// New makes the authorization that an account names. Its error names the field of the
// CloudAccount that is wrong. The client must not follow redirects.
func New(config cloud.Config, at Environment, client *http.Client) (*Bearer, error) {
	credential, err := newCredential(config, at, client)
	if err != nil {
		return nil, err
	}
	return newBearer(credential, at, config.Clock), nil
}

func newBearer(credential azcore.TokenCredential, at Environment, c clock.PassiveClock) *Bearer {
	b := &Bearer{credential: credential, scope: at.scope(), clock: c, turn: make(chan struct{}, 1)}
	// Behind a private endpoint, the next page may be named by the public host.
	for _, one := range []string{at.Endpoint(), azcloud.AzurePublic.Services[at.service].Endpoint} {
		if u, err := url.Parse(one); err == nil && u.Host != "" {
			b.hosts = append(b.hosts, u.Scheme+"://"+u.Hostname())
		}
	}
	return b
}

// Do sends a request with a token, and once more if that had expired: it was refused
// then, and nothing happened.
func (b *Bearer) Do(request *policy.Request) (*http.Response, error) {
	if !b.trusts(request.Raw().URL) {
		return nil, &cloud.Error{Class: cloud.ClassInvalid, Code: "ForeignHost", Message: "an answer leads to a host that is not the endpoint"}
	}
	ctx := request.Raw().Context()
	token, err := b.get(ctx, "")
	if err != nil {
		return nil, err
	}
	response, err := b.send(request, token)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	refused, ok := errors.AsType[*azcore.ResponseError](runtime.NewResponseError(response))
	if !ok || !expired(refused.ErrorCode) {
		return response, nil
	}
	if token, err = b.get(ctx, token); err != nil {
		return nil, err
	}
	if err := request.RewindBody(); err != nil {
		return nil, err
	}
	return b.send(request, token)
}

// expired reports whether a code says that a token has expired. Storage returns that code for
// any token that it rejects.
func expired(code string) bool {
	return code == "ExpiredAuthenticationToken" || code == "InvalidAuthenticationInfo"
}

func (b *Bearer) send(request *policy.Request, token string) (*http.Response, error) {
	request.Raw().Header.Set("Authorization", "Bearer "+token)
	return request.Next()
}

func (b *Bearer) trusts(u *url.URL) bool {
	for _, host := range b.hosts {
		if strings.EqualFold(host, u.Scheme+"://"+u.Hostname()) {
			return true
		}
	}
	return false
}

// get returns a token that does not expire soon and is not the refused one. That of a managed identity
// may be the refused one, which the library keeps.
func (b *Bearer) get(ctx context.Context, refused string) (string, error) {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return "", noToken(ctx.Err())
	}
	if b.token.Token != "" && b.token.Token != refused && b.clock.Now().Before(b.token.ExpiresOn.Add(-early)) {
		return b.token.Token, nil
	}
	token, err := b.credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{b.scope}})
	if err != nil {
		return "", err
	}
	b.token = token
	return token.Token, nil
}

// Application returns the ID of the application whose token is used, or an empty string
// if it is unknown. Errors are *cloud.Error.
func (b *Bearer) Application(ctx context.Context) (string, error) {
	token, err := b.get(ctx, "")
	if err != nil {
		return "", err
	}
	return application(token), nil
}

// application returns whose token a token is, as far as it can be read; it is not
// checked, which is the service's to do.
func application(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	claims := struct {
		Application string `json:"appid"`
	}{}
	if json.Unmarshal(payload, &claims) != nil {
		return ""
	}
	return claims.Application
}
