package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

const (
	// audience is the audience that a token must have to be exchanged.
	audience = "api://AzureADTokenExchange"
	// secretKey is the key of the Secret.
	secretKey = "clientSecret"
	// largestToken is the maximum size of a response of the token endpoint.
	largestToken = 1 << 20
)

// newCredential makes the credentials that an account names, and no others.
func newCredential(config cloud.Config, at Environment, client *http.Client) (azcore.TokenCredential, error) {
	kind, azure := config.Spec.Credentials.Type, config.Spec.Azure
	if kind == v1.CredentialsAmbient {
		return newAmbient(config, at, client)
	}
	switch {
	case azure.TenantID == "":
		return nil, fmt.Errorf("spec.azure.tenantID must be set with credentials of type %s", kind)
	case azure.ClientID == "":
		return nil, fmt.Errorf("spec.azure.clientID must be set with credentials of type %s", kind)
	}
	e := &exchange{
		client: client, config: config,
		url: at.ActiveDirectoryAuthorityHost + url.PathEscape(azure.TenantID) + "/oauth2/v2.0/token",
	}
	switch kind {
	case v1.CredentialsFederated:
		if config.Token == nil {
			return nil, fmt.Errorf("spec.credentials.type Federated needs a source of tokens")
		}
		e.proof = e.assertion
	case v1.CredentialsSecret:
		secret := string(config.Secret[secretKey])
		if secret == "" {
			return nil, fmt.Errorf("spec.credentials.secretRef: the Secret has no key %s", secretKey)
		}
		e.proof = func(context.Context) (string, string, error) { return "client_secret", secret, nil }
	default:
		return nil, fmt.Errorf("spec.credentials.type %q is not known", kind)
	}
	return e, nil
}

// exchange gets tokens by the client credentials grant.
type exchange struct {
	client *http.Client
	config cloud.Config
	url    string
	// proof returns the parameter that authenticates the application.
	proof func(context.Context) (key, value string, err error)
}

func (e *exchange) assertion(ctx context.Context) (key, value string, err error) {
	token, err := e.config.Token(ctx, audience)
	if err != nil {
		return "", "", &cloud.Error{Class: cloud.ClassTransient, Code: "NoToken", Message: "the hub's own token could not be made", Err: err}
	}
	return "client_assertion", token, nil
}

// GetToken requests a token. Errors are *cloud.Error, and do not contain the proof.
func (e *exchange) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	key, value, err := e.proof(ctx)
	if err != nil {
		return azcore.AccessToken{}, err
	}
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {e.config.Spec.Azure.ClientID},
		"scope": {strings.Join(options.Scopes, " ")}, key: {value},
	}
	if key == "client_assertion" {
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, strings.NewReader(form.Encode()))
	if err != nil {
		return azcore.AccessToken{}, noToken(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	asked := e.config.Clock.Now()
	response, err := e.client.Do(request)
	if err != nil {
		return azcore.AccessToken{}, noToken(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, largestToken))
	if err != nil {
		return azcore.AccessToken{}, noToken(err)
	}
	if response.StatusCode != http.StatusOK {
		return azcore.AccessToken{}, refused(refusal{response, body, e.config.Clock.Now(), value})
	}
	given := struct {
		Token     string      `json:"access_token"`
		ExpiresIn json.Number `json:"expires_in"`
	}{}
	if err := json.Unmarshal(body, &given); err != nil || given.Token == "" {
		return azcore.AccessToken{}, noToken(errors.New("the answer is not a token"))
	}
	seconds, err := given.ExpiresIn.Int64()
	if err != nil {
		return azcore.AccessToken{}, noToken(errors.New("the answer does not say how long the token is good"))
	}
	return azcore.AccessToken{Token: given.Token, ExpiresOn: asked.Add(time.Duration(seconds) * time.Second)}, nil
}

// noToken returns the error of a token request without a response.
func noToken(err error) error {
	if asked, ok := errors.AsType[*url.Error](err); ok {
		err = asked.Err
	}
	return &cloud.Error{Class: cloud.ClassTransient, Code: "NoToken", Message: "asking for a token: " + Line(err.Error()), Err: err}
}

// refusal is an error response of the token endpoint.
type refusal struct {
	response *http.Response
	body     []byte
	now      time.Time
	// secret must not appear in messages.
	secret string
}

func refused(r refusal) error {
	said := struct {
		Reason      string `json:"error"`
		Description string `json:"error_description"`
		Codes       []int  `json:"error_codes"`
		Trace       string `json:"trace_id"`
	}{}
	err := json.Unmarshal(r.body, &said)
	out := &cloud.Error{Class: cloud.ClassAuthExpired, Code: said.Reason, RequestID: said.Trace, RetryAfter: RetryAfter(r.response.Header, r.now)}
	if len(said.Codes) > 0 {
		out.Code = fmt.Sprintf("AADSTS%d", said.Codes[0])
	}
	// The rest are numbers of the request, which differ each time.
	text, _, _ := strings.Cut(said.Description, " Trace ID:")
	if r.secret != "" {
		text = strings.NewReplacer(r.secret, "…", url.QueryEscape(r.secret), "…").Replace(text)
	}
	out.Message = Line("asking for a token: " + text)
	switch status := r.response.StatusCode; {
	case status == http.StatusTooManyRequests:
		out.Class, out.RetryAfter = cloud.ClassThrottled, max(out.RetryAfter, DefaultRetryAfter)
	case err != nil || said.Reason == "" || status < http.StatusBadRequest || status >= http.StatusInternalServerError:
		out.Class, out.Code = cloud.ClassTransient, "NoToken"
		out.Message = fmt.Sprintf("asking for a token: status %d", status)
	}
	return out
}

// ambient is the identity of the pod or machine.
type ambient struct {
	inner azcore.TokenCredential
	clock interface{ Now() time.Time }
}

// newAmbient returns the credentials of workload identity if the pod has them, else of
// the managed identity of the machine. No other function here reads the environment.
func newAmbient(config cloud.Config, at Environment, client *http.Client) (azcore.TokenCredential, error) {
	options := azcore.ClientOptions{Transport: client, Retry: policy.RetryOptions{MaxRetries: -1}}
	if at.fromEndpoint {
		options.Cloud = at.Configuration
	}
	azure := config.Spec.Azure
	if os.Getenv("AZURE_FEDERATED_TOKEN_FILE") != "" {
		inner, err := azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: options, ClientID: azure.ClientID, TenantID: azure.TenantID, DisableInstanceDiscovery: true,
		})
		if err != nil {
			return nil, fmt.Errorf("spec.credentials.type Ambient: %s", Line(err.Error()))
		}
		return &ambient{inner, config.Clock}, nil
	}
	managed := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: options}
	if azure.ClientID != "" {
		managed.ID = azidentity.ClientID(azure.ClientID)
	}
	inner, err := azidentity.NewManagedIdentityCredential(managed)
	if err != nil {
		return nil, fmt.Errorf("spec.credentials.type Ambient: %s", Line(err.Error()))
	}
	return &ambient{inner, config.Clock}, nil
}

// GetToken requests a token. It drops the library's error texts, which contain whole
// responses.
func (a *ambient) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := a.inner.GetToken(ctx, options)
	var failed *azidentity.AuthenticationFailedError
	switch {
	case err == nil:
		return token, nil
	case errors.As(err, &failed) && failed.RawResponse != nil:
		body, readErr := runtime.Payload(failed.RawResponse) // Which the library has read already.
		if readErr != nil {
			return token, noToken(readErr)
		}
		return token, refused(refusal{response: failed.RawResponse, body: body, now: a.clock.Now()})
	case ctx.Err() != nil:
		return token, noToken(ctx.Err())
	default:
		return token, &cloud.Error{
			Class: cloud.ClassAuthExpired, Code: "NoIdentity",
			Message: "the hub's pod or machine has no identity in Azure that can be used",
		}
	}
}
