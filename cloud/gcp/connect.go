package gcp

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/gcp/apierror"
	"github.com/shopfleet/shopfleet/cloud/gcp/identity"
)

// defaultEndpoint is the address of the API for accounts that do not set one.
const defaultEndpoint = "https://compute.googleapis.com"

// session is one project in one region.
type session struct {
	project, region string
	// keys are those of the account, by location.
	keys        map[string]v1.CryptoKey
	endpoint    string
	http        http.RoundTripper
	credentials *identity.Credentials
	clock       clock.PassiveClock
}

// Connect makes a session. It sends nothing. The error is of class Invalid and names the
// field of the CloudAccount that is wrong, or the key of its Secret.
func Connect(_ context.Context, config cloud.Config) (cloud.Session, error) {
	if config.HTTP == nil || config.Clock == nil {
		return cloud.Session{}, refuse("Connect", cloud.ClassInvalid, "the session of account %q has no HTTP client or no clock", config.Account)
	}
	account := config.Spec.GCP
	if account == nil || !matches(`^[a-z][-a-z0-9]{4,28}[a-z0-9]$`, account.Project) {
		return cloud.Session{}, refuse("Connect", cloud.ClassInvalid, "spec.gcp.project of CloudAccount %q is no project ID", config.Account)
	}
	if !matches(`^[a-z][a-z0-9-]{0,61}[a-z0-9]$`, config.Region) {
		return cloud.Session{}, refuse("Connect", cloud.ClassInvalid, "%q is no region of Google Cloud", config.Region)
	}
	endpoint, err := parseEndpoint(config)
	if err != nil {
		return cloud.Session{}, err
	}
	s := &session{
		project: account.Project, region: config.Region, endpoint: endpoint,
		http: config.HTTP.Transport, clock: config.Clock, keys: account.Keys,
	}
	if s.http == nil {
		s.http = http.DefaultTransport
	}
	if s.credentials, err = identity.Connect(config, endpoint, s.http); err != nil {
		return cloud.Session{}, refuse("Connect", cloud.ClassInvalid, "CloudAccount %q: %v", config.Account, err)
	}
	return cloud.Session{Snapshots: snapshots{s}, Volumes: volumes{s}, Access: access{s}}, nil
}

// parseEndpoint returns the base URL of the API, without its path and a slash at the end.
func parseEndpoint(config cloud.Config) (string, error) {
	if config.Endpoint == "" {
		return defaultEndpoint, nil
	}
	endpoint := strings.TrimSuffix(strings.TrimRight(config.Endpoint, "/"), "/compute/v1")
	if _, ok := identity.ParseEndpoint(endpoint); !ok {
		return "", refuse("Connect", cloud.ClassInvalid, "spec.endpoint of CloudAccount %q is neither an https URL nor http on a loopback address", config.Account)
	}
	return endpoint, nil
}

// refuse returns an error for a request that was not sent.
func refuse(op string, class cloud.Class, format string, args ...any) *cloud.Error {
	return apierror.Refuse(op, class, format, args...)
}

// refuseCode returns the error of refuse with a code.
func refuseCode(op string, class cloud.Class, code, format string, args ...any) *cloud.Error {
	e := refuse(op, class, format, args...)
	e.Code = code
	return e
}

func matches(pattern, text string) bool {
	ok, err := regexp.MatchString(pattern, text)
	return err == nil && ok
}
