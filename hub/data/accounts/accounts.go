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

// Codes of the errors that this package returns.
const (
	// CodeUnknownAccount means that the account does not exist, or was not set yet.
	CodeUnknownAccount = "UnknownAccount"
	// CodeRegionNotAllowed means that spec.regions does not include the region.
	CodeRegionNotAllowed = "RegionNotAllowed"
	// CodeProviderMissing means that the binary has no adapter for the provider.
	CodeProviderMissing = "ProviderMissing"
	// CodeNoBucket means that the account has no spec.objectStorage.
	CodeNoBucket = "NoObjectStorage"
	// CodeInvalidBucket means that spec.objectStorage is invalid. A user must correct it.
	CodeInvalidBucket = "InvalidObjectStorage"
	// CodePaced means that the rate limit of the account is exceeded. No request was sent.
	CodePaced = "Paced"
	// CodeSafeMode means that the hub runs in safe mode, and changes nothing in clouds. No
	// request was sent.
	CodeSafeMode = "SafeMode"
)

// opConnect is the operation named in the errors that this package returns.
const opConnect = "Connect"

// Options configure Accounts.
type Options struct {
	// Registry has a constructor of sessions for each provider. Required.
	Registry cloud.Registry
	// Buckets has a constructor of buckets for each provider. May be nil.
	Buckets cloud.Buckets
	// Token issues tokens of the hub's ServiceAccount, for federated credentials; nil if
	// the hub has none.
	Token cloud.TokenSource
	// HTTP sends requests; the default is a NewTransport() for each account.
	HTTP http.RoundTripper
	// Fence wraps the transport of each connection, so that a process that lost its Lease
	// sends nothing; see fencing.Fence.WrapCloud. May be nil.
	Fence func(http.RoundTripper) http.RoundTripper
	// Clock is the real clock by default.
	Clock clock.Clock
	// SafeMode refuses all calls that may change something, with CodeSafeMode.
	SafeMode bool
	// Requests counts requests by provider, account and outcome; see NewRequests. The
	// default is a counter that is not registered.
	Requests *prometheus.CounterVec
}

// Accounts holds the sessions and buckets of all accounts. It is safe for concurrent use.
// Its methods do not send requests, except as the adapters of providers do when they
// connect.
type Accounts struct {
	options Options

	mu     sync.Mutex
	byName map[string]*account
}

// account is the state of one CloudAccount.
type account struct {
	spec   v1.CloudAccountSpec
	secret map[string][]byte
	// http is not shared with other accounts.
	http http.RoundTripper
	// sessions and budgets are keyed by region.
	sessions map[string]cloud.Session
	budgets  map[string]*budget
	// bucket is nil until first use.
	bucket       *Bucket
	bucketBudget *budget
	clock        *providerClock
}

// New returns an empty Accounts.
func New(o Options) *Accounts {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Requests == nil {
		o.Requests = NewRequests()
	}
	return &Accounts{options: o, byName: map[string]*account{}}
}

// Set adds or changes an account, and reports whether anything changed.
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
		// The rate limits, connections and clock skew do not depend on the credentials.
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
// if the account's spec excludes the region or provider, NotFound while the account is
// unknown.
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

func (a *Accounts) connect(ctx context.Context, name, region string, acc *account) (cloud.Session, error) {
	if len(acc.spec.Regions) > 0 && !slices.Contains(acc.spec.Regions, region) {
		return cloud.Session{}, acc.invalidf(CodeRegionNotAllowed, "region %q is not in spec.regions of CloudAccount %q", region, name)
	}
	connect, built := a.options.Registry[acc.spec.Provider]
	if !built {
		return cloud.Session{}, acc.invalidf(CodeProviderMissing, "this hub was built without the provider %s", acc.spec.Provider)
	}
	config := a.config(name, acc, acc.http)
	config.Region = region
	session, err := cloud.WithDeletion(connect)(ctx, config)
	if err != nil {
		return cloud.Session{}, fmt.Errorf("connecting to CloudAccount %q in region %q: %w", name, region, err)
	}
	paced, known := acc.budgets[region]
	if !known {
		paced = newBudget()
		acc.budgets[region] = paced
	}
	return a.pacer(paced, acc).wrap(session), nil
}

// pacer returns what enforces a rate limit for an account.
func (a *Accounts) pacer(limit *budget, acc *account) pacer {
	return pacer{budget: limit, provider: acc.spec.Provider, clock: a.options.Clock, safeMode: a.options.SafeMode}
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

// config returns the configuration of an account's connections, without a region.
func (a *Accounts) config(name string, acc *account, transport http.RoundTripper) cloud.Config {
	if a.options.Fence != nil {
		transport = a.options.Fence(transport)
	}
	return cloud.Config{
		Account: name, Endpoint: acc.spec.Endpoint, Spec: acc.spec, Secret: acc.secret,
		Token: a.options.Token, Clock: a.options.Clock,
		HTTP: &http.Client{Transport: counted{
			next:  dated{next: transport, clock: acc.clock},
			count: a.options.Requests.MustCurryWith(prometheus.Labels{"provider": string(acc.spec.Provider), "account": name}),
		}},
	}
}

// invalidf returns an error of class Invalid.
func (a *account) invalidf(code, format string, args ...any) error {
	return &cloud.Error{
		Class: cloud.ClassInvalid, Provider: a.spec.Provider, Op: opConnect, Code: code,
		Message: fmt.Sprintf(format, args...),
	}
}
