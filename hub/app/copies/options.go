package copies

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/recovery/store"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/hub/members"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// controllerName is the name of the members' queues in logs and metrics.
const controllerName = "ecommerceapp-copies"

const (
	defaultWorkers     = 4
	defaultCallTimeout = 10 * time.Second

	// lastRetry bounds the delay before a failed write is tried again.
	lastRetry = time.Minute
)

// Fleet says how members are connected. *members.Fleet is one.
type Fleet interface {
	// Mode returns in which mode a member is connected, and Paused whether nothing is written there.
	Mode(cluster string) v1.Mode
	Paused(cluster string) bool
}

// agentless is a fleet without agents and pauses.
type agentless struct{}

func (agentless) Mode(string) v1.Mode { return v1.ModeAgentless }
func (agentless) Paused(string) bool  { return false }

// Record says what a member has recorded about applications. *members.Record is one.
type Record interface {
	// DeletedAt returns the time of the deletion of an application, or zero, and Left the generation at
	// which it left the member, or 0.
	DeletedAt(app types.UID) time.Time
	Left(app types.UID) int64
	// Delete records a deletion. Forget removes one, as the copy exists again.
	Delete(ctx context.Context, deletion members.Deletion) error
	Forget(ctx context.Context, deletion members.Deletion) error
	// Confirm returns an error if another hub manages the member.
	Confirm(ctx context.Context) error
}

// Options configure a Dispatcher.
type Options struct {
	// Clock is the source of time. The default is the real one.
	Clock clock.PassiveClock
	// Logger is the logger of the members' queues. The default discards.
	Logger logr.Logger
	// Recorder records events on applications. Required.
	Recorder events.EventRecorder
	// FanOut observes, by cluster, how long a generation of an application took to
	// get there. Required.
	FanOut *prometheus.HistogramVec
	// CallTimeout bounds each request to a member. The default is 10 s.
	CallTimeout time.Duration
	// Workers is the number of copies that are written at a time in each member. The
	// default is 4.
	Workers int
	// Resync is the period after which a member's queue checks all its copies. The default
	// is that of package controller.
	Resync time.Duration
	// Fleet says how each member is connected. By default the hub reconciles the copies of all, and none is
	// paused.
	Fleet Fleet
	// Residue records what stays behind in members. Without one, a deletion waits for each
	// member for ever.
	Residue *store.Store
	// Record returns the record of a member, whose methods do nothing if it is not connected. By default
	// nothing is recorded.
	Record func(cluster string) Record
	// APIReader reads applications from the hub's API server, to tell a cache that is behind
	// from a hub that was restored. By default the cache is trusted.
	APIReader client.Reader
	// Revisions says what members have of applications. Required for those with a rollout.
	Revisions *revisions.Store
	// State remembers applications. By default it is a new one.
	State *state.State
	// Waits changes how long the controller waits; the default leaves it as it is.
	Waits retry.Waits
}

func (o *Options) applyDefaults() {
	if o.Resync <= 0 {
		o.Resync = o.Waits.Scaled(controller.DefaultResync)
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.State == nil {
		o.State = state.New(o.Clock)
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = defaultCallTimeout
	}
	if o.Workers <= 0 {
		o.Workers = defaultWorkers
	}
	if o.Record == nil {
		o.Record = func(string) Record { return (*members.Record)(nil) }
	}
	if o.Fleet == nil {
		o.Fleet = agentless{}
	}
}

// Subject returns the related object of an event about one cluster. Events that differ
// only in their note would be counted as one.
func Subject(name string) *v1.MemberCluster {
	return &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
