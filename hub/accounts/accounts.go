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
	// CodeNoBucket means that the account has no spec.objectStorage.
	CodeNoBucket = "NoObjectStorage"
	// CodeInvalidBucket means that no bucket can be what the account says of it. That is
	// for people to mend, and nothing is wrong with what is to go there.
	CodeInvalidBucket = "InvalidObjectStorage"
	// CodePaced means that the account's own budget is spent. Nothing was sent.
	CodePaced = "Paced"
)

// opConnect is the operation of the errors that are made here.
const opConnect = "Connect"

// Options are what accounts work with.
type Options struct {
	// Registry says how to connect to each provider. Required.
	Registry cloud.Registry
	// Buckets says how to connect to the buckets of each provider; nil: of none.
	Buckets cloud.Buckets
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

// Accounts are the accounts that sessions and buckets are made for. Its methods may be
// called at the same time, and none waits for a network.
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
	http http.RoundTripper
	// sessions and budgets are by region.
	sessions map[string]cloud.Session
	budgets  map[string]*budget
	// bucket is nil until it is asked for.
	bucket       *Bucket
	bucketBudget *budget
	clock        *providerClock
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
		sessions: map[string]cloud.Session{}, budgets: map[string]*budget{}, bucketBudget: newBudget(),
		clock: newProviderClock(a.options.Clock),
	}
	switch {
	case known:
		// What is left of the budgets is the provider's view, and no matter of
		// credentials; nor are connections.
		next.budgets, next.bucketBudget, next.http, next.clock = last.budgets, last.bucketBudget, last.http, last.clock
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
	found, err := a.find(name)
	if err != nil {
		return cloud.Session{}, err
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
	if len(of.spec.Regions) > 0 && !slices.Contains(of.spec.Regions, region) {
		return cloud.Session{}, of.refuse(CodeRegionNotAllowed, "region %q is not in spec.regions of CloudAccount %q", region, name)
	}
	connect, built := a.options.Registry[of.spec.Provider]
	if !built {
		return cloud.Session{}, of.refuse(CodeProviderMissing, "this hub was built without the provider %s", of.spec.Provider)
	}
	config := a.config(name, of, of.http)
	config.Region = region
	session, err := connect(ctx, config)
	if err != nil {
		return cloud.Session{}, fmt.Errorf("connecting to CloudAccount %q in region %q: %w", name, region, err)
	}
	paced, known := of.budgets[region]
	if !known {
		paced = newBudget()
		of.budgets[region] = paced
	}
	return paced.wrap(session, of.spec.Provider, a.options.Clock), nil
}

func (a *Accounts) find(name string) (*account, error) {
	found, known := a.byName[name]
	if !known {
		return nil, &cloud.Error{
			Class: cloud.ClassNotFound, Op: opConnect, Code: CodeUnknownAccount,
			Message: fmt.Sprintf("there is no CloudAccount %q", name),
		}
	}
	return found, nil
}

// config is what connections of an account are made from, in no region.
func (a *Accounts) config(name string, of *account, transport http.RoundTripper) cloud.Config {
	return cloud.Config{
		Account: name, Endpoint: of.spec.Endpoint, Spec: of.spec, Secret: of.secret,
		Token: a.options.Token, Clock: a.options.Clock,
		HTTP: &http.Client{Transport: counted{
			next:  dated{next: transport, clock: of.clock},
			count: a.options.Requests.MustCurryWith(prometheus.Labels{"provider": string(of.spec.Provider), "account": name}),
		}},
	}
}

// refuse is an error about what the account's spec rules out.
func (of *account) refuse(code, format string, args ...any) error {
	return &cloud.Error{
		Class: cloud.ClassInvalid, Provider: of.spec.Provider, Op: opConnect, Code: code,
		Message: fmt.Sprintf(format, args...),
	}
}
