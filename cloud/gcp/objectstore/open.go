package objectstore

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/gcp/apierror"
	"github.com/shopfleet/shopfleet/cloud/gcp/identity"
)

// defaultEndpoint is the address of the API for accounts that do not set one.
const defaultEndpoint = "https://storage.googleapis.com"

// objects implements cloud.ObjectStore for one bucket below a prefix.
type objects struct {
	bucket string
	// prefix ends in a slash, or is empty.
	prefix      string
	endpoint    string
	http        http.RoundTripper
	credentials *identity.Credentials
	clock       clock.PassiveClock
}

// Open connects to the bucket of an account. It sends nothing. The error is of class
// Invalid and names the field of the CloudAccount that is wrong, or the key of its Secret.
func Open(_ context.Context, config cloud.Config) (cloud.ObjectStore, error) {
	const op = "Open"
	if config.HTTP == nil || config.Clock == nil {
		return nil, apierror.Refuse(op, cloud.ClassInvalid, "the bucket of account %q has no HTTP client or no clock", config.Account)
	}
	storage := config.Spec.ObjectStorage
	switch {
	case config.Spec.GCP == nil:
		return nil, apierror.Refuse(op, cloud.ClassInvalid, "CloudAccount %q has no spec.gcp", config.Account)
	case storage == nil || !matches(`^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$`, storage.Bucket):
		return nil, apierror.Refuse(op, cloud.ClassInvalid, "spec.objectStorage.bucket of CloudAccount %q is no name of a bucket", config.Account)
	case storage.Prefix != "" && cloud.CheckKey(storage.Prefix) != nil:
		return nil, apierror.Refuse(op, cloud.ClassInvalid, "spec.objectStorage.prefix of CloudAccount %q cannot begin a name", config.Account)
	}
	o := &objects{bucket: storage.Bucket, endpoint: defaultEndpoint, http: config.HTTP.Transport, clock: config.Clock}
	if storage.Prefix != "" {
		o.prefix = storage.Prefix + "/"
	}
	if storage.Endpoint != "" {
		o.endpoint = strings.TrimSuffix(strings.TrimRight(storage.Endpoint, "/"), "/storage/v1")
		if u, ok := identity.ParseEndpoint(o.endpoint); !ok || u.Path != "" {
			return nil, apierror.Refuse(op, cloud.ClassInvalid, "spec.objectStorage.endpoint of CloudAccount %q is neither an https URL without path nor http on a loopback address", config.Account)
		}
	}
	if o.http == nil {
		o.http = http.DefaultTransport
	}
	var err error
	if o.credentials, err = identity.Connect(config, o.endpoint, o.http); err != nil {
		return nil, apierror.Refuse(op, cloud.ClassInvalid, "CloudAccount %q: %v", config.Account, err)
	}
	return o, nil
}

func matches(pattern, text string) bool {
	ok, err := regexp.MatchString(pattern, text)
	return err == nil && ok
}
