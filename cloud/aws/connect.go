package aws

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// client is the session: one account in one region.
type client struct {
	config  cloud.Config
	account v1.AWSAccount
	ec2     *ec2.Client
	sts     *sts.Client
	// credentials are forgotten when they are not accepted any more.
	credentials *cache
}

// Connect makes a session. It sends nothing. Errors are of class Invalid and name the
// field of the CloudAccount.
func Connect(_ context.Context, config cloud.Config) (cloud.Session, error) {
	if err := check(config); err != nil {
		return cloud.Session{}, err
	}
	credentials, err := credentialsOf(config)
	if err != nil {
		return cloud.Session{}, err
	}
	c := &client{
		config: config, account: *config.Spec.AWS, credentials: credentials,
		ec2: ec2.New(ec2.Options{
			Region: config.Region, Credentials: credentials, BaseEndpoint: endpoint(config),
			HTTPClient: newWire(config.HTTP), Retryer: aws.NopRetryer{},
		}),
		sts: newSTS(config, credentials),
	}
	return cloud.Session{Snapshots: c, Volumes: c, Access: c}, nil
}

func newSTS(config cloud.Config, credentials aws.CredentialsProvider) *sts.Client {
	return sts.New(sts.Options{
		Region: config.Region, Credentials: credentials, BaseEndpoint: endpoint(config),
		HTTPClient: newWire(config.HTTP), Retryer: aws.NopRetryer{},
	})
}

func endpoint(config cloud.Config) *string {
	if config.Endpoint == "" {
		return nil
	}
	return aws.String(config.Endpoint)
}

// check finds what is wrong with a configuration before anything is made of it.
func check(config cloud.Config) error {
	spec := config.Spec
	switch {
	case config.HTTP == nil || config.Clock == nil:
		return misconfigured("an HTTP client and a clock are required")
	case spec.Provider != v1.ProviderAWS:
		return misconfigured(fmt.Sprintf("spec.provider: %q is not %q", spec.Provider, v1.ProviderAWS))
	case spec.AWS == nil:
		return misconfigured("spec.aws: required")
	case !regexp.MustCompile(`^[0-9]{12}$`).MatchString(spec.AWS.AccountID):
		return misconfigured("spec.aws.accountID: must be twelve digits")
	case !regexp.MustCompile(`^[a-z]{2,}(-[a-z]+)+-[0-9]+$`).MatchString(config.Region):
		return misconfigured(fmt.Sprintf("%q is not the name of a region", config.Region))
	case len(spec.Regions) > 0 && !slices.Contains(spec.Regions, config.Region):
		return misconfigured(fmt.Sprintf("spec.regions: %q is not one of them", config.Region))
	case !goodEndpoint(config.Endpoint):
		return misconfigured("spec.endpoint: must be an https URL without user, query or fragment, or http on a loopback address")
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
			return misconfigured("spec.aws.roleARN: required when spec.credentials.type is Federated")
		}
		if config.Token == nil {
			return misconfigured("spec.credentials.type: Federated needs tokens of the hub's ServiceAccount, which are not there")
		}
		return nil
	case v1.CredentialsSecret:
		for _, key := range []string{secretKeyID, secretKey} {
			if strings.TrimSpace(string(config.Secret[key])) == "" {
				return misconfigured(fmt.Sprintf("spec.credentials.secretRef: the Secret has no key %s", key))
			}
		}
		return nil
	default:
		return misconfigured(fmt.Sprintf("spec.credentials.type: unknown type %q", spec.Credentials.Type))
	}
}

func goodEndpoint(endpoint string) bool {
	if endpoint == "" {
		return true
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, u.Hostname())
}

func misconfigured(message string) error {
	return &cloud.Error{Class: cloud.ClassInvalid, Provider: v1.ProviderAWS, Op: "Connect", Message: message}
}
