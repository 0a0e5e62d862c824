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

// Backend is a provider's bucket under test: the function that opens it, and the bucket
// behind them. Each case gets one of its own.
type Backend struct {
	Provider v1.Provider
	// Clock is the provider's and the Objects'. It moves when a case moves it.
	Clock *testclock.FakeClock
	// Store is the truth; a *bucket.Store, or what does the same in front of a service
	// that is not ours.
	Store Store
	// Script lets requests of Objects go wrong; what a stranger sends does not pass it.
	Script *faults.Script
	// Open makes Objects that remember nothing, as after a restart.
	Open func(t testing.TB, o Options) (cloud.Objects, error)
	// Send sends a stranger's request as it is, without credentials and without faults.
	Send func(r *http.Request) (*http.Response, error)
	// Refusal is the provider's own answer of a class, to an operation.
	Refusal func(class cloud.Class, op faults.Op, after time.Duration) faults.Answer
	// PageSize makes the bucket answer lists in pages of at most so many.
	PageSize func(n int)
	// SigningRequests is how many requests the signature of one costs: 0, or 1 where the
	// provider signs, and not the adapter.
	SigningRequests int
	// Validate checks a recorded request against the vendor's own description of its
	// API; nil says why there is none in NoOracle.
	Validate func(call faults.Call) error
	NoOracle string
	// Secrets are texts that must be in no error: keys, tokens, names of parameters with
	// signatures. The signed URLs of a case come on top.
	Secrets []string
	// Spare are the cases that cannot be put to this provider, by number, with the reason.
	Spare map[int]string
}

// Store is the truth about a bucket, and what people do to it behind our back. Keys are
// whole, with the prefix of the account.
type Store interface {
	// Keys are those of all objects, sorted.
	Keys() []string
	// Content returns the content of an object, and whether it exists.
	Content(key string) ([]byte, bool)
	// Put writes an object, over what is there.
	Put(key string, content []byte)
	Remove(key string)
	// Lock holds an object with a policy of the bucket, or lets it go.
	Lock(key string, locked bool)
}

// Options configures Objects.
type Options struct {
	// Prefix is spec.objectStorage.prefix.
	Prefix string
	// BadCredentials are refused by the provider.
	BadCredentials bool
	// Missing names a bucket that is not there.
	Missing bool
	// Elsewhere is another region than the bucket's or, where the provider does not ask
	// for the region, an endpoint that is none of the provider's and answers 404.
	Elsewhere bool
	// TLS is an endpoint with a certificate of an authority that nobody knows. The HTTP
	// client trusts it when Trusted is set, as for spec.objectStorage.caBundle.
	TLS, Trusted bool
}
