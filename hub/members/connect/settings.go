package connect

import (
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttransport "k8s.io/client-go/transport"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/connect/transport"
	"github.com/shopfleet/shopfleet/hub/members/crds"
	"github.com/shopfleet/shopfleet/spoke/runtime/watchtimeout"
)

// Settings are shared by all connections of a fleet. All fields but Record, Lease and Wrap are
// required; see members.Options.
type Settings struct {
	Scheme   *runtime.Scheme
	Clock    clock.Clock
	Logger   logr.Logger
	Timeouts Timeouts
	// Limits limit the requests of caches and reconcilers to each member; zero values have
	// defaults.
	Limits transport.Limits
	// Slots bound how many members are connected at a time.
	Slots *Slots
	// Agentless and Agent apply to members in that mode.
	Agentless, Agent Profile
	// HubUID identifies the hub in records; see members.Options.
	HubUID string
	// Record is the name of the ConfigMap with the record; empty for none.
	Record client.ObjectKey
	// Lease is the name of the agents' Lease.
	Lease client.ObjectKey
	// Wrap wraps the transport of each connection; see members.Options. May be nil.
	Wrap clienttransport.WrapperFunc
}

// Profile represents the objects that the hub watches, and the checks and permissions that
// it requires, in members of one mode. All fields but Permissions are required; see
// members.Profile.
type Profile struct {
	CacheOptions func() cache.Options
	Watched      func() []client.Object
	Prepare      crds.Definitions
	Permissions  []authorizationv1.ResourceAttributes
}

func (s *Settings) profile(mode v1.Mode) *Profile {
	if mode == v1.ModeAgent {
		return &s.Agent
	}
	return &s.Agentless
}

// Index describes a field index of the cache.
type Index struct {
	Object  client.Object
	Field   string
	Extract client.IndexerFunc
}

// Timeouts bound the requests to a member, and what the hub waits for there.
type Timeouts struct {
	// Dial bounds the TCP connection and, separately, the TLS handshake. The default is 5
	// s.
	Dial time.Duration
	// Request bounds one request, except the duration of a watch; of a list, it bounds each wait
	// for more data. The default is 10 s.
	Request time.Duration
	// Probe bounds one probe. The default is 5 s.
	Probe time.Duration
	// Watch is the time without data after which a watch ends. The default is
	// watchtimeout.Silence.
	Watch time.Duration
	// Review bounds the review of all permissions and capabilities together. The default
	// is 30 s.
	Review time.Duration
	// Pods bounds the list of all pods, in all its pages. The default is 1 min.
	Pods time.Duration
	// Prepare bounds the installation of the definitions, and each later comparison. The
	// default is 30 s.
	Prepare time.Duration
	// Sync bounds the time in which the initial sync of a cache makes no progress, and the
	// engagement of reconcilers. The default is 30 s.
	Sync time.Duration
	// AgentTakeover bounds the wait for an agent that is to take over. Agents renew their
	// Lease every second. The default is 8 s.
	AgentTakeover time.Duration
	// AgentSilence is the time without a renewal after which an agent counts as silent. The
	// default is 40 s: a standby replica takes over within 17 s, and an upgrade takes a few
	// seconds more.
	AgentSilence time.Duration
	// Unwatched is the time of refused lists and watches of a kind after which the member is
	// lost. The default is 90 s: reflectors wait up to 30 s between two attempts, and jitter may
	// double that.
	Unwatched time.Duration
}

// WithDefaults returns a copy in which values that are not positive are replaced by
// defaults.
func (t Timeouts) WithDefaults() Timeouts {
	for _, each := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&t.Dial, 5 * time.Second},
		{&t.Request, 10 * time.Second},
		{&t.Probe, 5 * time.Second},
		{&t.Watch, watchtimeout.Silence},
		{&t.Review, 30 * time.Second},
		{&t.Pods, time.Minute},
		{&t.Prepare, 30 * time.Second},
		{&t.Sync, 30 * time.Second},
		{&t.AgentTakeover, 8 * time.Second},
		{&t.AgentSilence, 40 * time.Second},
		{&t.Unwatched, 90 * time.Second},
	} {
		if *each.value <= 0 {
			*each.value = each.standard
		}
	}
	return t
}

func (t Timeouts) transport() transport.Timeouts {
	return transport.Timeouts{Dial: t.Dial, Request: t.Request, Probe: t.Probe, Watch: t.Watch}
}
