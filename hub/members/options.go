package members

import (
	"cmp"
	"runtime"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clienttransport "k8s.io/client-go/transport"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/hub/members/connect"
	"github.com/shopfleet/shopfleet/hub/members/connect/transport"
	"github.com/shopfleet/shopfleet/hub/members/crds"
	"github.com/shopfleet/shopfleet/hub/members/ownership"
	"github.com/shopfleet/shopfleet/hub/members/permissions"
)

// Options configure a Fleet.
type Options struct {
	// HubUID is the UID of the hub's own kube-system namespace. A member with that UID is
	// rejected.
	HubUID string
	// Scheme knows the types that are read and written on members, and core/v1. Required.
	Scheme *apiruntime.Scheme
	// Clock is the real clock by default.
	Clock clock.Clock
	// Logger receives the log of all members. By default nothing is logged.
	Logger logr.Logger
	// Profile applies to members in mode Agentless, Agent to those in mode Agent.
	Profile
	Agent Profile
	// Record is the name of the ConfigMap in each member that says which hub manages it. By
	// default there is none, and nothing keeps two hubs from managing one member.
	Record client.ObjectKey
	// Lease is the name of the Lease that the agent in each member renews, in mode Agent.
	Lease client.ObjectKey
	// Timeouts bound the network requests. Zero values have defaults.
	Timeouts Timeouts
	// Limits limit the requests of reconcilers and caches to each member. Zero values have defaults.
	Limits Limits
	// Connects is the number of members that are inspected and whose caches are filled at a time, of
	// those that have answered. The default is twice the number of processors, and four at least.
	Connects int
	// Periods are the times between attempts. Zero values have defaults.
	Periods Periods
	// SafeMode pauses all members.
	SafeMode bool
	// Wrap wraps the transport of each connection, within the clients' rate limit and outside
	// of the deadline of a request. It sees every request to a member, retries included. By
	// default nothing is wrapped.
	Wrap clienttransport.WrapperFunc
}

// Profile represents the objects that the hub watches, and the checks and permissions that
// it requires, in members of one mode.
type Profile struct {
	// CacheOptions returns the cache options of one member. It is called for each
	// connection. The fleet adds a transform for nodes. The default is no options.
	CacheOptions func() cache.Options
	// Watched returns the types whose informers must be in sync before a member is
	// engaged: every type that reconcilers watch there. Nodes are added.
	Watched func() []client.Object
	// Prepare are the definitions that a member must have before its informers start and
	// as long as they run; see InstallDefinitions. In mode Agent they are compared but not
	// written. The default is none.
	Prepare crds.Definitions
	// Permissions lists what the credentials must grant; see PermissionsFrom.
	Permissions []authorizationv1.ResourceAttributes
}

func (p Profile) settings() connect.Profile {
	if p.CacheOptions == nil {
		p.CacheOptions = func() cache.Options { return cache.Options{} }
	}
	if p.Watched == nil {
		p.Watched = func() []client.Object { return nil }
	}
	return connect.Profile(p)
}

// Timeouts bound the requests to a member.
type Timeouts = connect.Timeouts

// Limits are the numbers of requests per second to a member.
type Limits = transport.Limits

// Record says which hub manages a member, and which applications were deleted there.
type Record = connect.RecordClient

// Deletion represents the deletion of an application, as Record.Delete records it.
type Deletion = ownership.Deletion

// Defaults of Periods.
const (
	DefaultRetry   = 10 * time.Second
	DefaultInspect = 15 * time.Second
	DefaultRenew   = time.Minute
	DefaultPods    = time.Minute
)

// The default of Options.Connects.
const (
	connectsPerProcessor = 2
	minConnects          = 4
)

// Periods are the times after which a fleet looks again at what is not as it should be.
type Periods struct {
	// Retry bounds the delay between attempts to connect. The default is 10 s.
	Retry time.Duration
	// Inspect is the period of inspections of a member that lacks a permission or a
	// definition. Others are inspected in four times that period. The default is 15 s.
	Inspect time.Duration
	// Renew is the delay after the first failed renewal of credentials. It doubles with each
	// failure up to 64 times this. The default is 1 min.
	Renew time.Duration
	// Pods is the period of lists of the pods of a member. The default is 1 min.
	Pods time.Duration
}

func (p Periods) withDefaults() Periods {
	return Periods{
		Retry: cmp.Or(p.Retry, DefaultRetry), Inspect: cmp.Or(p.Inspect, DefaultInspect), Renew: cmp.Or(p.Renew, DefaultRenew),
		Pods: cmp.Or(p.Pods, DefaultPods),
	}
}

// settings fills in defaults and returns the settings of the connections.
func (o Options) settings() *connect.Settings {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	if o.Connects <= 0 {
		o.Connects = max(connectsPerProcessor*runtime.GOMAXPROCS(0), minConnects)
	}
	return &connect.Settings{
		Scheme:    o.Scheme,
		Clock:     o.Clock,
		Logger:    o.Logger,
		Timeouts:  o.Timeouts.WithDefaults(),
		Limits:    o.Limits.WithDefaults(),
		Slots:     connect.NewSlots(o.Connects, o.Clock),
		Agentless: o.Profile.settings(),
		Agent:     o.Agent.settings(),
		HubUID:    o.HubUID,
		Record:    o.Record,
		Lease:     o.Lease,
		Wrap:      o.Wrap,
	}
}

// PermissionsFrom returns the permissions that a role grants, one entry for each verb and
// resource, for Options.Permissions.
func PermissionsFrom(rules []rbacv1.PolicyRule) []authorizationv1.ResourceAttributes {
	return permissions.FromRules(rules)
}

// PermissionsIn returns the permissions that rules grant in one namespace; see PermissionsFrom.
func PermissionsIn(namespace string, rules []rbacv1.PolicyRule) []authorizationv1.ResourceAttributes {
	return permissions.Within(namespace, permissions.FromRules(rules))
}

// InstallDefinitions returns the value of Profile.Prepare that installs
// CustomResourceDefinitions in members. Definitions that are missing or different are
// written when the member is connected, and again when they change or are deleted later.
// A member that lacks one of them is not Ready.
func InstallDefinitions(definitions ...*unstructured.Unstructured) crds.Definitions {
	return definitions
}
