package connection

import (
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/preflight"
	"github.com/shopfleet/shopfleet/hub/members/transport"
)

// Settings are what all sessions of a fleet have in common. All fields but Lease are
// required; members.Options explains them.
type Settings struct {
	Scheme   *runtime.Scheme
	Clock    clock.Clock
	Logger   logr.Logger
	Timeouts Timeouts
	// Agentless and Agent are for members of the mode.
	Agentless, Agent Profile
	// Lease is that of the agents.
	Lease client.ObjectKey
}

// Profile is what is watched, checked and needed in members of one mode. All fields
// but Permissions are required; members.Profile explains them.
type Profile struct {
	CacheOptions func() cache.Options
	Watched      func() []client.Object
	Prepare      preflight.Definitions
	Permissions  []authorizationv1.ResourceAttributes
}

func (o *Settings) profile(mode v1.Mode) *Profile {
	if mode == v1.ModeAgent {
		return &o.Agent
	}
	return &o.Agentless
}

// Index is an index of a field in the cache.
type Index struct {
	Object  client.Object
	Field   string
	Extract client.IndexerFunc
}

// Timeouts bound what asks the network of a member.
type Timeouts struct {
	// Dial bounds a TCP connection, and again the TLS handshake. The default is 5 s.
	Dial time.Duration
	// Request bounds one request, but not how long a watch goes on. The default is 10 s.
	Request time.Duration
	// Probe bounds one probe. The default is 5 s.
	Probe time.Duration
	// Review bounds all questions about permissions and capabilities together. The
	// default is 30 s.
	Review time.Duration
	// Prepare bounds the setup of the member, and again each later look at it. The
	// default is 30 s.
	Prepare time.Duration
	// Sync bounds the first listing of everything watched, and again the engagement.
	// The default is 30 s.
	Sync time.Duration
}

// WithDefaults returns the timeouts with those filled in that are not positive.
func (t Timeouts) WithDefaults() Timeouts {
	for _, each := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&t.Dial, 5 * time.Second},
		{&t.Request, 10 * time.Second},
		{&t.Probe, 5 * time.Second},
		{&t.Review, 30 * time.Second},
		{&t.Prepare, 30 * time.Second},
		{&t.Sync, 30 * time.Second},
	} {
		if *each.value <= 0 {
			*each.value = each.standard
		}
	}
	return t
}

func (t Timeouts) link() transport.Timeouts {
	return transport.Timeouts{Dial: t.Dial, Request: t.Request, Probe: t.Probe}
}
