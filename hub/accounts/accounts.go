package accounts

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// Codes of the errors that are made here.
const (
	// CodeUnknownAccount means that there is no such account, or that it was not set yet.
	CodeUnknownAccount = "UnknownAccount"
	// CodeRegionNotAllowed means that the account's spec.regions leaves the region out.
	CodeRegionNotAllowed = "RegionNotAllowed"
	// CodeProviderMissing means that this build has no adapter for the provider.
	CodeProviderMissing = "ProviderMissing"
	// CodePaced means that the account's own token bucket is empty. Nothing was sent.
	CodePaced = "Paced"
)

// Options are what accounts work with.
type Options struct {
	// Registry says how to connect to each provider. Required.
	Registry cloud.Registry
	// Token makes tokens of the hub's ServiceAccount, for federated credentials; nil
	// where the hub has none.
	Token cloud.TokenSource
	// HTTP sends requests; the default is a NewTransport() for each account.
	HTTP http.RoundTripper
	// Clock tells the time; the default is the real one.
	Clock clock.Clock
	// Requests counts requests by provider, account and outcome (see NewRequests); the
	// default is a counter that nobody reads.
	Requests *prometheus.CounterVec
}

// Accounts are the accounts that sessions are made for. Its methods may be called at the
// same time, and none waits for a network.
type Accounts struct {
	options Options

	mu     sync.Mutex
	byName map[string]*account
}

// account is what is known of one.
type account struct {
	spec   v1.CloudAccountSpec
	secret map[string][]byte
	// http is the account's own, so that connections that hang are nobody else's.
	http     http.RoundTripper
	sessions map[string]cloud.Session
	buckets  map[string]*buckets
}

// New makes accounts without any.
func New(o Options) *Accounts {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Requests == nil {
		o.Requests = NewRequests()
	}
	return &Accounts{options: o, byName: map[string]*account{}}
}

// Set says what an account is now. It tells whether anything changed.
func (a *Accounts) Set(name string, spec v1.CloudAccountSpec, secret map[string][]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, known := a.byName[name]
	if known && equality.Semantic.DeepEqual(last.spec, spec) && equality.Semantic.DeepEqual(last.secret, secret) {
		return false
	}
	next := &account{
		spec: *spec.DeepCopy(), secret: maps.Clone(secret),
		sessions: map[string]cloud.Session{}, buckets: map[string]*buckets{},
	}
	switch {
	case known:
		// What is left in the buckets is the provider's view, and no matter of
		// credentials; nor are connections.
		next.buckets, next.http = last.buckets, last.http
	case a.options.HTTP != nil:
		next.http = a.options.HTTP
	default:
		next.http = NewTransport()
	}
	a.byName[name] = next
	return true
}

// Remove forgets an account.
func (a *Accounts) Remove(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.byName, name)
}

// Session returns the session of an account in a region. Errors are *cloud.Error: Invalid
// for what the account's spec rules out, NotFound while the account is not known.
func (a *Accounts) Session(ctx context.Context, name, region string) (cloud.Session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, known := a.byName[name]
	if !known {
		return cloud.Session{}, &cloud.Error{
			Class: cloud.ClassNotFound, Op: "Connect", Code: CodeUnknownAccount,
			Message: fmt.Sprintf("there is no CloudAccount %q", name),
		}
	}
	if s, made := found.sessions[region]; made {
		return s, nil
	}
	session, err := a.connect(ctx, name, region, found)
	if err != nil {
		return cloud.Session{}, err
	}
	found.sessions[region] = session
	return session, nil
}

func (a *Accounts) connect(ctx context.Context, name, region string, of *account) (cloud.Session, error) {
	refuse := func(code, format string, args ...any) error {
		return &cloud.Error{
			Class: cloud.ClassInvalid, Provider: of.spec.Provider, Op: "Connect", Code: code,
			Message: fmt.Sprintf(format, args...),
		}
	}
	if len(of.spec.Regions) > 0 && !slices.Contains(of.spec.Regions, region) {
		return cloud.Session{}, refuse(CodeRegionNotAllowed, "region %q is not in spec.regions of CloudAccount %q", region, name)
	}
	connect, built := a.options.Registry[of.spec.Provider]
	if !built {
		return cloud.Session{}, refuse(CodeProviderMissing, "this hub was built without the provider %s", of.spec.Provider)
	}
	session, err := connect(ctx, cloud.Config{
		Account: name, Region: region, Endpoint: of.spec.Endpoint, Spec: of.spec, Secret: of.secret,
		Token: a.options.Token, Clock: a.options.Clock,
		HTTP: &http.Client{Transport: counted{
			next:  of.http,
			count: a.options.Requests.MustCurryWith(prometheus.Labels{"provider": string(of.spec.Provider), "account": name}),
		}},
	})
	if err != nil {
		return cloud.Session{}, fmt.Errorf("connecting to CloudAccount %q in region %q: %w", name, region, err)
	}
	paced, known := of.buckets[region]
	if !known {
		paced = newBuckets()
		of.buckets[region] = paced
	}
	return paced.wrap(session, of.spec.Provider, a.options.Clock), nil
}
