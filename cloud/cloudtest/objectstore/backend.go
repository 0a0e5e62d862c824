package objectstore

import (
	"net/http"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
)

// Backend represents a provider's bucket under test: the function that opens it, and its
// contents. Each case gets one of its own.
type Backend struct {
	Provider v1.Provider
	// Clock is the clock of the provider and of Objects. Only cases move it.
	Clock *testclock.FakeClock
	// Store is the state of the bucket: a *bucket.Store, or an adapter for a third-party
	// server.
	Store Store
	// Script injects faults into requests of Objects, not into signed requests.
	Script *faults.Script
	// Open creates Objects without any state, as after a restart.
	Open func(t testing.TB, o Options) (cloud.ObjectStore, error)
	// Send sends a signed request unchanged, without credentials and faults.
	Send func(r *http.Request) (*http.Response, error)
	// Refusal returns the provider's response for an error class of an operation.
	Refusal func(class cloud.Class, op faults.Op, after time.Duration) faults.Answer
	// PageSize limits the number of objects in a page of a list.
	PageSize func(n int)
	// SigningRequests is the number of requests that signing one request costs: 0, or 1
	// if the provider signs instead of the adapter.
	SigningRequests int
	// DeletionRequests is the number of reads before a deletion.
	DeletionRequests int
	// Validate checks a recorded request against the vendor's API description; if it is
	// nil, ValidateSkipReason gives the reason.
	Validate           func(call faults.Call) error
	ValidateSkipReason string
	// Prefixed is set if permissions end at the prefix of the account.
	Prefixed bool
	// Refused returns what the permissions of cloud/README.md did not allow; see
	// fixture.Backend.
	Refused func() []string
	// Secrets must not appear in any error: keys, tokens, names of parameters with
	// signatures. The signed URLs of a case are added.
	Secrets []string
	// Unsupported maps the numbers of cases that this provider does not support to the reason.
	Unsupported map[int]string
}

// Store reads a bucket, and edits it without the adapter's knowledge. Keys include the
// prefix of the account.
type Store interface {
	// Keys returns the keys of all objects, sorted.
	Keys() []string
	// Content returns the content of an object, and whether it exists.
	Content(key string) ([]byte, bool)
	// Put writes an object, replacing an existing one.
	Put(key string, content []byte)
	Remove(key string)
	// Lock sets or removes a policy of the bucket that holds an object.
	Lock(key string, locked bool)
}

// Options configures Objects.
type Options struct {
	// Prefix is spec.objectStorage.prefix.
	Prefix string
	// BadCredentials are refused by the provider.
	BadCredentials bool
	// Beyond selects an identity whose permissions are for AccountPrefix, and not for Prefix.
	Beyond bool
	// Foreign selects a bucket that exists, and that the permissions do not name.
	Foreign bool
	// Missing selects a bucket that does not exist.
	Missing bool
	// Elsewhere selects another region than the bucket's or, where the provider does not
	// need the region, an endpoint that is not the provider's and answers 404.
	Elsewhere bool
	// TLS selects an endpoint whose certificate is from a private authority. The HTTP
	// client trusts it when Trusted is set, as for spec.objectStorage.caBundle.
	TLS, Trusted bool
}
