package objectstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/azure/identity"
)

const (
	// attemptTimeout bounds each request, that for a token included.
	attemptTimeout = 30 * time.Second
	// application is the application ID that requests send.
	application = "shopfleet"
)

// box is a container, with the prefix of the account's objects.
type box struct {
	config cloud.Config
	// account is the name of the storage account, url the URL of the container.
	account, url string
	// name is the container's; prefix ends with a slash unless it is empty.
	name, prefix string
	container    *container.Client
	keys         *keys
}

var _ cloud.OpenBucket = Open

// Open makes Objects. It sends nothing; an error is of class Invalid and names the field
// of the CloudAccount.
func Open(_ context.Context, config cloud.Config) (cloud.ObjectStore, error) {
	if err := check(config); err != nil {
		return nil, err
	}
	storage := config.Spec.ObjectStorage
	at, err := identity.Locate(config.Endpoint)
	if err != nil {
		return nil, invalid(config, "spec.endpoint: %s", err)
	}
	if at, err = at.Blobs(storage.StorageAccount, storage.Endpoint); err != nil {
		return nil, invalid(config, "spec.objectStorage.endpoint: %s", err)
	}
	client := identity.Client(config.HTTP)
	bearer, err := identity.New(config, at, client)
	if err != nil {
		return nil, invalid(config, "%s", err)
	}
	options := policy.ClientOptions{
		Cloud: at.Configuration, Transport: client,
		Retry:            policy.RetryOptions{MaxRetries: -1, TryTimeout: attemptTimeout},
		Telemetry:        policy.TelemetryOptions{ApplicationID: application},
		PerRetryPolicies: []policy.Policy{bearer},
	}
	b := &box{config: config, account: storage.StorageAccount, name: storage.Bucket, url: at.Endpoint() + "/" + storage.Bucket}
	if storage.Prefix != "" {
		b.prefix = storage.Prefix + "/"
	}
	// Without a credential, because the policy above authorizes.
	b.container, err = container.NewClientWithNoCredential(b.url, &container.ClientOptions{
		ClientOptions: options, ExpectContinueBehavior: container.ExpectContinueOptions{Mode: container.ExpectContinueModeOff},
	})
	if err != nil {
		return nil, invalid(config, "creating the client: %s", err)
	}
	plain, err := azcore.NewClient(application, "v1.0.0", runtime.PipelineOptions{}, &options)
	if err != nil {
		return nil, invalid(config, "creating the client: %s", err)
	}
	b.keys = &keys{pipeline: plain.Pipeline(), clock: config.Clock, url: at.Endpoint() + "/?restype=service&comp=userdelegationkey", turn: make(chan struct{}, 1)}
	return b, nil
}

// check validates the configuration of a bucket.
func check(config cloud.Config) error {
	storage := config.Spec.ObjectStorage
	switch {
	case config.HTTP == nil || config.Clock == nil:
		return invalid(config, "a bucket needs an HTTP client and a clock")
	case config.Spec.Azure == nil:
		return invalid(config, "spec.azure must be set")
	case storage == nil:
		return invalid(config, "spec.objectStorage must be set")
	case storage.StorageAccount == "":
		return invalid(config, "spec.objectStorage.storageAccount must be set")
	case storage.Bucket == "":
		return invalid(config, "spec.objectStorage.bucket must be set")
	case strings.ContainsAny(storage.Bucket, "._"):
		return invalid(config, "spec.objectStorage.bucket %q: containers have letters, digits and dashes in their names", storage.Bucket)
	}
	return nil
}

func invalid(config cloud.Config, format string, args ...any) error {
	return &cloud.Error{
		Class: cloud.ClassInvalid, Provider: v1.ProviderAzure, Op: "OpenBucket", Code: "InvalidAccount",
		Message: fmt.Sprintf("CloudAccount %q: ", config.Account) + fmt.Sprintf(format, args...),
	}
}
