package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	e := &exchange{client: client, config: config, at: at}
	switch {
	case kind == v1.CredentialsAmbient:
	case azure.TenantID == "":
		return nil, fmt.Errorf("spec.azure.tenantID must be set with credentials of type %s", kind)
	case azure.ClientID == "":
		return nil, fmt.Errorf("spec.azure.clientID must be set with credentials of type %s", kind)
	case kind == v1.CredentialsFederated && config.Token == nil:
		return nil, fmt.Errorf("spec.credentials.type Federated needs a source of tokens")
	case kind == v1.CredentialsSecret && len(config.Secret[secretKey]) == 0:
		return nil, fmt.Errorf("spec.credentials.secretRef: the Secret has no key %s", secretKey)
	}
	if kind != v1.CredentialsAmbient {
		to, err := url.Parse(at.ActiveDirectoryAuthorityHost)
		if err != nil {
			return nil, fmt.Errorf("reading the address of the authority: %w", err)
		}
		e.authority = to
	}
	if _, err := (&attempt{exchange: e}).credential(); err != nil {
		return nil, fmt.Errorf("spec.credentials.type %s: %s", kind, Line(err.Error()))
	}
	return e, nil
}

// exchange gets tokens by credentials of the library. Each token is requested with new ones:
// those that have returned a token do so until it expires, even if it was refused. Managed identities
// do so with new ones too, because the library keeps their tokens for the whole process.
type exchange struct {
	client *http.Client
	config cloud.Config
	at     Environment
	// authority receives the requests for the tokens of an application. It is nil for the ambient
	// identity, whose environment names it.
	authority *url.URL
}

// GetToken requests a token. Errors are *cloud.Error: the texts of the library's contain whole
// responses.
func (e *exchange) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	a := &attempt{exchange: e}
	inner, err := a.credential()
	if err != nil {
		return azcore.AccessToken{}, noToken(err)
	}
	token, err := inner.GetToken(ctx, options)
	if err == nil {
		return token, nil
	}
	failed, ok := errors.AsType[*azidentity.AuthenticationFailedError](err)
	switch {
	case ok && failed.RawResponse != nil:
		body, err := runtime.Payload(failed.RawResponse) // Which the library has read already.
		if err != nil {
			return token, noToken(err)
		}
		return token, refused(refusal{failed.RawResponse, body, e.config.Clock.Now(), string(e.config.Secret[secretKey])})
	case a.cause != nil && e.authority != nil:
		return token, noToken(a.cause)
	case ctx.Err() != nil:
		return token, noToken(ctx.Err())
	case e.authority == nil:
		return token, &cloud.Error{
			Class: cloud.ClassAuthExpired, Code: "NoIdentity",
			Message: "the hub's pod or machine has no identity in Azure that can be used",
		}
	default:
		return token, noToken(errors.New("the answer is not a token"))
	}
}

// attempt sends the requests for one token.
type attempt struct {
	*exchange
	// cause is why there is no token. The library keeps the text of it only.
	cause error
}

// RoundTrip sends a request to the authority of the account. The library would follow
// AZURE_REGIONAL_AUTHORITY_NAME and MSAL_FORCE_REGION to another host, and refuses an authority
// without TLS or with a path, as an endpoint on a loopback address may have.
func (a *attempt) RoundTrip(r *http.Request) (*http.Response, error) {
	if to := a.authority; to != nil {
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host, r.Host = to.Scheme, to.Host, to.Host
		r.URL.Path = strings.TrimSuffix(to.Path, "/") + r.URL.Path
	}
	next := a.client.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	response, err := next.RoundTrip(r)
	if err != nil {
		a.cause = err
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, largestToken)
	return response, nil
}

// credential makes new credentials: for the ambient identity those of workload identity if the
// pod has them, else of the managed identity of the machine. No other function here reads the
// environment.
func (a *attempt) credential() (azcore.TokenCredential, error) {
	client := *a.client
	client.Transport = a
	options := azcore.ClientOptions{Transport: &client, Retry: policy.RetryOptions{MaxRetries: -1}}
	switch {
	case a.authority != nil:
		options.Cloud.ActiveDirectoryAuthorityHost = "https://" + a.authority.Host + "/"
	case a.at.fromEndpoint:
		options.Cloud = a.at.Configuration
	}
	azure := a.config.Spec.Azure
	switch kind := a.config.Spec.Credentials.Type; {
	case kind == v1.CredentialsSecret:
		return azidentity.NewClientSecretCredential(azure.TenantID, azure.ClientID, string(a.config.Secret[secretKey]),
			&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true})
	case kind == v1.CredentialsFederated:
		return azidentity.NewClientAssertionCredential(azure.TenantID, azure.ClientID, a.assertion,
			&azidentity.ClientAssertionCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true})
	case kind != v1.CredentialsAmbient:
		return nil, errors.New("the type is not known")
	case os.Getenv("AZURE_FEDERATED_TOKEN_FILE") != "":
		return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: options, ClientID: azure.ClientID, TenantID: azure.TenantID, DisableInstanceDiscovery: true,
		})
	}
	managed := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: options}
	if azure.ClientID != "" {
		managed.ID = azidentity.ClientID(azure.ClientID)
	}
	return azidentity.NewManagedIdentityCredential(managed)
}

// assertion returns a token of the hub, with which an application proves its identity.
func (a *attempt) assertion(ctx context.Context) (string, error) {
	token, err := a.config.Token(ctx, audience)
	if err != nil {
		a.cause = &cloud.Error{Class: cloud.ClassTransient, Code: "NoToken", Message: "the hub's own token could not be made", Err: err}
	}
	return token, err
}

// noToken returns the error of a token request without a response.
func noToken(err error) error {
	if ours, ok := errors.AsType[*cloud.Error](err); ok {
		return ours
	}
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
