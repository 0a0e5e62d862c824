package azure

import (
	"context"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/azure/identity"
)

// attemptTimeout bounds each request, that for a token included.
const attemptTimeout = 30 * time.Second

// account is a resource group in one region, and the identity there.
type account struct {
	config       cloud.Config
	subscription string
	group        string
	region       string
	snapshots    *armcompute.SnapshotsClient
	disks        *armcompute.DisksClient
	sets         *armcompute.DiskEncryptionSetsClient
	arm          *arm.Client
	bearer       *identity.Bearer
}

var _ cloud.Connect = Connect

// Connect makes a session. It sends nothing; an error is of class Invalid and names the
// field of the CloudAccount.
func Connect(_ context.Context, config cloud.Config) (cloud.Session, error) {
	if err := check(config); err != nil {
		return cloud.Session{}, err
	}
	at, err := identity.Locate(config.Endpoint)
	if err != nil {
		return cloud.Session{}, invalid(config, "spec.endpoint: %s", err)
	}
	client := identity.Client(config.HTTP)
	bearer, err := identity.New(config, at, client)
	if err != nil {
		return cloud.Session{}, invalid(config, "%s", err)
	}
	a := &account{
		config:       config,
		subscription: config.Spec.Azure.SubscriptionID, group: config.Spec.Azure.GroupOf(region(config.Region)), region: region(config.Region),
		bearer: bearer,
	}
	options := &arm.ClientOptions{
		ClientOptions: policy.ClientOptions{
			Cloud: at.Configuration, Transport: client,
			Retry:            policy.RetryOptions{MaxRetries: -1, TryTimeout: attemptTimeout},
			Telemetry:        policy.TelemetryOptions{ApplicationID: "shopfleet"},
			PerRetryPolicies: []policy.Policy{bearer},
		},
		DisableRPRegistration: true,
	}
	// The credential is nil because the policy above authorizes.
	factory, err := armcompute.NewClientFactory(a.subscription, nil, options)
	if err != nil {
		return cloud.Session{}, invalid(config, "creating the client: %s", err)
	}
	a.snapshots, a.disks, a.sets = factory.NewSnapshotsClient(), factory.NewDisksClient(), factory.NewDiskEncryptionSetsClient()
	if a.arm, err = arm.NewClient("shopfleet", "v1.0.0", nil, options); err != nil {
		return cloud.Session{}, invalid(config, "creating the client: %s", err)
	}
	return cloud.Session{Snapshots: a, Volumes: a, Access: a}, nil
}

// check validates the configuration of a session.
func check(config cloud.Config) error {
	azure := config.Spec.Azure
	switch {
	case config.HTTP == nil || config.Clock == nil:
		return invalid(config, "a session needs an HTTP client and a clock")
	case azure == nil:
		return invalid(config, "spec.azure must be set")
	case azure.SubscriptionID == "":
		return invalid(config, "spec.azure.subscriptionID must be set")
	case config.Region == "":
		return invalid(config, "a session needs a region")
	case azure.GroupOf(region(config.Region)) == "":
		return invalid(config, "spec.azure.resourceGroups must have an entry for %s, or one entry for all regions", region(config.Region))
	}
	return nil
}

func invalid(config cloud.Config, format string, args ...any) error {
	return &cloud.Error{
		Class: cloud.ClassInvalid, Provider: v1.ProviderAzure, Op: "Connect", Code: "InvalidAccount",
		Message: fmt.Sprintf("CloudAccount %q: ", config.Account) + fmt.Sprintf(format, args...),
	}
}
