package identity

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/aws/apierror"
)

// Check validates the account and the credentials of a configuration. Errors are of class
// Invalid and name the field of the CloudAccount.
func Check(config cloud.Config) error {
	spec := config.Spec
	switch {
	case config.HTTP == nil || config.Clock == nil:
		return Misconfigured("an HTTP client and a clock are required")
	case spec.Provider != v1.ProviderAWS:
		return Misconfigured(fmt.Sprintf("spec.provider: %q is not %q", spec.Provider, v1.ProviderAWS))
	case spec.AWS == nil:
		return Misconfigured("spec.aws: required")
	case !regexp.MustCompile(`^[0-9]{12}$`).MatchString(spec.AWS.AccountID):
		return Misconfigured("spec.aws.accountID: must be twelve digits")
	case !GoodEndpoint(config.Endpoint):
		return Misconfigured("spec.endpoint: must be an https URL without user, query or fragment, or http on a loopback address")
	}
	return checkCredentials(config)
}

func checkCredentials(config cloud.Config) error {
	spec := config.Spec
	switch spec.Credentials.Type {
	case v1.CredentialsAmbient:
		return nil
	case v1.CredentialsFederated:
		if spec.AWS.RoleARN == "" {
			return Misconfigured("spec.aws.roleARN: required when spec.credentials.type is Federated")
		}
		if config.Token == nil {
			return Misconfigured("spec.credentials.type: Federated needs tokens of the hub's ServiceAccount, which are not there")
		}
		return nil
	case v1.CredentialsSecret:
		for _, key := range []string{secretKeyID, secretKey} {
			if strings.TrimSpace(string(config.Secret[key])) == "" {
				return Misconfigured(fmt.Sprintf("spec.credentials.secretRef: the Secret has no key %s", key))
			}
		}
		return nil
	default:
		return Misconfigured(fmt.Sprintf("spec.credentials.type: unknown type %q", spec.Credentials.Type))
	}
}

// GoodEndpoint reports whether requests may be sent to an endpoint: an https URL without
// user, query or fragment, or http on a loopback address. Empty is the provider's own.
func GoodEndpoint(endpoint string) bool {
	if endpoint == "" {
		return true
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, u.Hostname())
}

// Misconfigured returns the error of an invalid configuration.
func Misconfigured(message string) error {
	return &cloud.Error{Class: cloud.ClassInvalid, Provider: v1.ProviderAWS, Op: "Connect", Message: message}
}

// NewSTS creates a client of the token service. An endpoint in the configuration serves
// STS, too.
func NewSTS(config cloud.Config, credentials aws.CredentialsProvider) *sts.Client {
	return sts.New(sts.Options{
		Region: config.Region, Credentials: credentials, BaseEndpoint: Endpoint(config.Endpoint),
		HTTPClient: apierror.NewWire(config.HTTP, apierror.CheckXML), Retryer: aws.NopRetryer{},
	})
}

// Endpoint converts an endpoint for the SDK: nil selects the provider's own.
func Endpoint(endpoint string) *string {
	if endpoint == "" {
		return nil
	}
	return aws.String(endpoint)
}
