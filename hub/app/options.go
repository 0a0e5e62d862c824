package app

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/copies"
	"github.com/shopfleet/shopfleet/hub/app/recovery/store"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/hub/members"
	"github.com/shopfleet/shopfleet/spoke/render"
	runtimecontroller "github.com/shopfleet/shopfleet/spoke/runtime/controller"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	// controllerName is the name of the controller in logs and metrics.
	controllerName = "ecommerceapp-fleet"

	// defaultWorkers is for reconciliations that mostly wait for the hub's API server.
	defaultWorkers        = 16
	defaultProgressPeriod = 5 * time.Second
)

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
	// ProgressPeriod is the minimum time between writes of mere progress. The default is 5 s.
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
		o.ProgressPeriod = defaultProgressPeriod
	}
}

// Controller places applications and dispatches their copies to the members. It is safe
// for concurrent use.
type Controller struct {
	options    Options
	dispatcher *copies.Dispatcher
	state      *state.State
	// backups are the applications whose backups have changed.
	backups runtimecontroller.Queue
	// reconciler is nil until Setup, and is not replaced.
	reconciler *Reconciler
}

// New returns a controller that reads applications from hub, a cache. Call Setup to add
// it to a manager.
func New(hub client.Reader, o Options) *Controller {
	o.applyDefaults()
	queues := copies.Options{
		State: o.State,
		Clock: o.Clock, Logger: o.Logger, Recorder: o.Recorder, FanOut: o.Metrics.fanout,
		CallTimeout: o.CallTimeout, Workers: o.WorkersPerMember, Resync: o.Resync, Waits: o.Waits,
		Residue: o.Residue, APIReader: o.APIReader, Revisions: o.Revisions,
	}
	if o.Fleet != nil {
		queues.Fleet, queues.Record = o.Fleet, func(cluster string) copies.Record { return o.Fleet.Record(cluster) }
	}
	return &Controller{options: o, state: o.State, dispatcher: copies.New(hub, queues)}
}

// Dispatcher returns the dispatcher, which writes copies to the members. Add it to a
// multicluster manager.
func (c *Controller) Dispatcher() *copies.Dispatcher { return c.dispatcher }

// Setup adds the reconciler of applications to a manager, before members are connected. The API
// server must serve EcommerceApp and MemberCluster by then.
func (c *Controller) Setup(mgr mcmanager.Manager) error {
	local := mgr.GetLocalManager()
	r := &Reconciler{
		client:     local.GetClient(),
		reader:     local.GetAPIReader(),
		dispatcher: c.dispatcher,
		state:      c.state,
		revisions:  c.options.Revisions,
		clock:      c.options.Clock,
		recorder:   c.options.Recorder,
		waits:      c.options.Waits,
		rendering:  c.options.Rendering,

		progressPeriod: c.options.ProgressPeriod,
		safeMode:       c.options.SafeMode,
	}
	c.reconciler = r
	err := builder.ControllerManagedBy(local).
		Named(controllerName).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: c.options.Workers,
			RateLimiter:             runtimecontroller.NewRateLimiter[reconcile.Request](time.Second, 5*time.Minute),
		}).
		Watches(&v1.EcommerceApp{}, c.onApp()).
		Watches(&corev1.ConfigMap{}, c.onResidue()).
		Watches(&v1.MemberCluster{}, c.onMember()).
		WatchesRawSource(c.dispatcher.News()).
		WatchesRawSource(c.backups.Source()).
		Complete(r)
	if err != nil {
		return fmt.Errorf("adding the application controller: %w", err)
	}
	return nil
}

// onApp enqueues an application for each of its changes. The hub's own writes are among them, because a pass
// waits until the cache has them.
func (c *Controller) onApp() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			if app, ok := e.Object.(*v1.EcommerceApp); ok {
				c.state.Deliver(nil, app)
			}
			q.Add(runtimecontroller.RequestFor(e.Object))
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, _ := e.ObjectOld.(*v1.EcommerceApp)
			if app, ok := e.ObjectNew.(*v1.EcommerceApp); ok {
				c.state.Deliver(before, app)
			}
			q.Add(runtimecontroller.RequestFor(e.ObjectNew))
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			c.state.Withdraw(client.ObjectKeyFromObject(e.Object))
			q.Add(runtimecontroller.RequestFor(e.Object))
		},
	}
}

// onResidue enqueues what stayed behind in a member, for the member's queue, and the
// applications whose deletion waits because the record of the member was full. The hub's
// cache holds no other ConfigMaps.
func (c *Controller) onResidue() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, record client.Object) []reconcile.Request {
		member := record.GetLabels()[v1.MemberRecordLabel]
		c.dispatcher.CleanUp(ctx, member)
		return c.unrecorded(member)
	})
}

func keyOf(app *v1.EcommerceApp) client.ObjectKey { return client.ObjectKeyFromObject(app) }
