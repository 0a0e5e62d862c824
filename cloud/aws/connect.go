package aws

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/aws/apierror"
	"github.com/shopfleet/shopfleet/cloud/aws/identity"
)

// client is the session: one account in one region.
type client struct {
	config  cloud.Config
	account v1.AWSAccount
	ec2     *ec2.Client
	sts     *sts.Client
	// credentials are invalidated when they are not accepted any more.
	credentials *aws.CredentialsCache
}

// Connect makes a session. It sends nothing. Errors are of class Invalid and name the
// field of the CloudAccount.
func Connect(_ context.Context, config cloud.Config) (cloud.Session, error) {
	if err := check(config); err != nil {
		return cloud.Session{}, err
	}
	credentials, err := identity.Connect(config)
	if err != nil {
		return cloud.Session{}, err
	}
	c := &client{
		config: config, account: *config.Spec.AWS, credentials: credentials,
		ec2: ec2.New(ec2.Options{
			Region: config.Region, Credentials: credentials, BaseEndpoint: identity.Endpoint(config.Endpoint),
			HTTPClient: apierror.NewWire(config.HTTP, apierror.CheckXML), Retryer: aws.NopRetryer{},
		}),
		sts: identity.NewSTS(config, credentials),
	}
	return cloud.Session{Snapshots: c, Volumes: c, Access: c}, nil
}

// check validates the configuration of a session.
func check(config cloud.Config) error {
	switch {
	case !regexp.MustCompile(`^[a-z]{2,}(-[a-z]+)+-[0-9]+$`).MatchString(config.Region):
		return identity.Misconfigured(fmt.Sprintf("%q is not the name of a region", config.Region))
	case len(config.Spec.Regions) > 0 && !slices.Contains(config.Spec.Regions, config.Region):
		return identity.Misconfigured(fmt.Sprintf("spec.regions: %q is not one of them", config.Region))
	}
	return identity.Check(config)
}
