package identity

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/aws/apierror"
)

// containerHost is the address at which Amazon ECS serves a task's credentials.
const containerHost = "http://169.254.170.2"

// ambientOf returns the credentials of the hub's pod or machine. It checks the sources
// of AWS in order and takes the first that exists: variables with keys, the token file
// of a ServiceAccount (IRSA), the endpoint of EKS Pod Identity or ECS, and the machine.
func ambientOf(config cloud.Config) (aws.CredentialsProvider, error) {
	if id, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"); id != "" && secret != "" {
		return credentials.NewStaticCredentialsProvider(id, secret, os.Getenv("AWS_SESSION_TOKEN")), nil
	}
	if file, role := os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), os.Getenv("AWS_ROLE_ARN"); file != "" && role != "" {
		own := config
		own.Token = func(context.Context, string) (string, error) { return tokenIn(file) }
		return federated{client: NewSTS(config, aws.AnonymousCredentials{}), config: own, role: role}, nil
	}
	endpoint := os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if relative := os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); relative != "" {
		endpoint = containerHost + relative
	}
	if endpoint != "" {
		return containerOf(config, endpoint)
	}
	return ec2rolecreds.New(func(o *ec2rolecreds.Options) {
		o.Client = imds.New(imds.Options{HTTPClient: plain{apierror.TransportOf(config.HTTP)}, Retryer: aws.NopRetryer{}, EnableFallback: aws.FalseTernary})
	}), nil
}

// containerOf returns the credentials of the endpoint of EKS Pod Identity. Its address
// must be one of AWS's, or this machine's, because it receives a token.
func containerOf(config cloud.Config, endpoint string) (aws.CredentialsProvider, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" && !slices.Contains([]string{"169.254.170.2", "169.254.170.23", "fd00:ec2::23", "127.0.0.1", "localhost", "::1"}, u.Hostname()) {
		return nil, Misconfigured("spec.credentials.type: the ambient endpoint for credentials is neither https nor one of AWS's or this machine's addresses")
	}
	return endpointcreds.New(endpoint, func(o *endpointcreds.Options) {
		o.HTTPClient, o.Retryer = plain{apierror.TransportOf(config.HTTP)}, aws.NopRetryer{}
		o.AuthorizationToken = os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
		if file := os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
			o.AuthorizationTokenProvider = endpointcreds.TokenProviderFunc(func() (string, error) { return tokenIn(file) })
		}
	}), nil
}

// tokenIn reads a token from a file, which is replaced before the token expires.
func tokenIn(file string) (string, error) {
	token, err := fs.ReadFile(os.DirFS(filepath.Dir(file)), filepath.Base(file))
	if err != nil {
		return "", fmt.Errorf("reading a token: %w", err)
	}
	return strings.TrimSpace(string(token)), nil
}

// plain sends the requests for ambient credentials, whose responses are not XML. The
// caller limits the time for all of them together.
type plain struct{ transport http.RoundTripper }

func (p plain) Do(r *http.Request) (*http.Response, error) { return p.transport.RoundTrip(r) }
