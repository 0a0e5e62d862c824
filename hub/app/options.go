package app

import (
	"cmp"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/hub/app/copies"
	"github.com/shopfleet/shopfleet/hub/app/recovery/store"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/hub/members"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// defaultWorkers is for reconciliations that mostly wait for the hub's API server.
const defaultWorkers = 16

// Fleet says how members are connected, and what they have recorded. *members.Fleet is one.
type Fleet interface {
	copies.Fleet
	// Record returns the record of a connected member, or nil.
	Record(cluster string) *members.Record
}

// Options configure a Controller.
type Options struct {
	// Clock is the real clock by default.
	Clock clock.PassiveClock
	// Logger is used by the queues of members. By default nothing is logged.
	Logger logr.Logger
	// Recorder records events on applications. Required.
	Recorder events.EventRecorder
	// Metrics default to metrics that are not registered.
	Metrics *Metrics
	// CallTimeout bounds each request to a member. The default is 10 s.
	CallTimeout time.Duration
	// Workers is the number of concurrent reconciliations, WorkersPerMember the number of
	// concurrent writes in each member. The defaults are 16 and 4.
	Workers, WorkersPerMember int
	// Resync is the period after which all copies of a member are checked. The default is
	// that of package controller.
	Resync time.Duration
	// Fleet says how members are connected, and what they have recorded. By default the hub reconciles the copies of
	// all, none is paused, and nothing is recorded.
	Fleet Fleet
	// SafeMode means that every member is paused, connected or not.
	SafeMode bool
	// ProgressPeriod is the minimum time between writes of mere progress, while few applications make
	// progress (retry.Progress). The default is 5 s.
	ProgressPeriod time.Duration
	// Residue records what deleted applications leave behind in members. Without one, a
	// deletion waits for each member for ever.
	Residue *store.Store
	// Revisions stores those of applications with a rollout, for which it is required.
	Revisions *revisions.Store
	// APIReader is copies.Options.APIReader.
	APIReader client.Reader
	// Rendering is the version of the pod templates that this process renders. The default is render.Version.
	Rendering string
	// State remembers applications, for Revisions too. By default it is a new one.
	State *state.State
	// Waits overrides delays, for tests. By default the constants of this package apply.
	Waits retry.Waits
}

func (o *Options) applyDefaults() {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.State == nil {
		o.State = state.New(o.Clock)
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	if o.Metrics == nil {
		o.Metrics = newMetrics()
	}
	if o.Workers <= 0 {
		o.Workers = defaultWorkers
	}
	if o.Revisions == nil {
		o.Revisions = revisions.New(nil, nil, o.State)
	}
	o.Rendering = cmp.Or(o.Rendering, render.Version)
	if o.ProgressPeriod <= 0 {
		o.ProgressPeriod = retry.ProgressPeriod
	}
}
