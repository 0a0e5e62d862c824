package members

import (
	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/hub/members/connection"
	"github.com/shopfleet/shopfleet/hub/members/preflight"
)

// Options configure a Fleet.
type Options struct {
	// HubUID is the UID of the hub's own kube-system namespace. A member with it is refused.
	HubUID string
	// Scheme knows the types that are read and written on members, and core/v1. Required.
	Scheme *runtime.Scheme
	// Clock tells the time; the default is the real one.
	Clock clock.Clock
	// Logger says what members do; the default says nothing.
	Logger logr.Logger
	// Profile is for members in mode Agentless, Agent for those in mode Agent.
	Profile
	Agent Profile
	// Lease is the one in each member that its agent renews, for mode Agent.
	Lease client.ObjectKey
	// Timeouts bound what may take long; zero values have defaults.
	Timeouts Timeouts
}

// Profile is what the hub watches, checks and needs in members of one mode.
type Profile struct {
	// CacheOptions returns the options for the cache of one member, anew for each
	// connection. The fleet adds what it keeps of nodes. The default is none.
	CacheOptions func() cache.Options
	// Watched returns the types whose informers are in sync before a member is
	// engaged: everything that reconcilers watch there. Nodes are added.
	Watched func() []client.Object
	// Prepare is what a member must have before its informers start and for as long as
	// they run; see InstallDefinitions. In mode Agent it is compared and not written.
	// The default is nothing.
	Prepare preflight.Definitions
	// Permissions are what the credentials must allow; see PermissionsFrom.
	Permissions []authorizationv1.ResourceAttributes
}

func (p Profile) settings() connection.Profile {
	if p.CacheOptions == nil {
		p.CacheOptions = func() cache.Options { return cache.Options{} }
	}
	if p.Watched == nil {
		p.Watched = func() []client.Object { return nil }
	}
	return connection.Profile(p)
}

// Timeouts bound what asks the network of a member.
type Timeouts = connection.Timeouts

// settings fills in defaults and returns what the sessions need.
func (o Options) settings() *connection.Settings {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	return &connection.Settings{
		Scheme:    o.Scheme,
		Clock:     o.Clock,
		Logger:    o.Logger,
		Timeouts:  o.Timeouts.WithDefaults(),
		Agentless: o.Profile.settings(),
		Agent:     o.Agent.settings(),
		Lease:     o.Lease,
	}
}

// PermissionsFrom lists what a role grants, one entry for each verb and resource,
// for Options.Permissions.
func PermissionsFrom(rules []rbacv1.PolicyRule) []authorizationv1.ResourceAttributes {
	return preflight.PermissionsFrom(rules)
}

// PermissionsIn is PermissionsFrom for rules that hold in one namespace.
func PermissionsIn(namespace string, rules []rbacv1.PolicyRule) []authorizationv1.ResourceAttributes {
	return preflight.Within(namespace, preflight.PermissionsFrom(rules))
}

// InstallDefinitions returns what, as Options.Prepare, makes members serve the kinds
// of CustomResourceDefinitions. Those that a member does not have as given are written
// when it is connected, and again when they are lost or changed later. While a
// member is without one, it is not Ready.
func InstallDefinitions(definitions ...*unstructured.Unstructured) preflight.Definitions {
	return definitions
}
