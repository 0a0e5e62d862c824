package app

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
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
)

const (
	// controllerName is the name of the hub's queue in logs and metrics.
	controllerName = "ecommerceapp-fleet"
	// laneName is the name of the members' queues there.
	laneName = "ecommerceapp-copies"

	defaultWorkers        = 4
	defaultWorkersPerLane = 4
	defaultCallTimeout    = 10 * time.Second
)

// Options are what the controller works with.
type Options struct {
	// Clock tells the time; the default is the real one.
	Clock clock.PassiveClock
	// Logger is where the queues of members log; the default is nowhere.
	Logger logr.Logger
	// Recorder records events on applications. Required.
	Recorder events.EventRecorder
	// Metrics are counted; the default is metrics that nobody reads.
	Metrics *Metrics
	// CallTimeout bounds each request to a member. The default is 10 s.
	CallTimeout time.Duration
	// Workers is how many applications are decided on at a time, WorkersPerMember
	// how many copies are written at a time in each member. The defaults are 4.
	Workers, WorkersPerMember int
}

func (o *Options) applyDefaults() {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	if o.Metrics == nil {
		o.Metrics = newMetrics()
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = defaultCallTimeout
	}
	if o.Workers <= 0 {
		o.Workers = defaultWorkers
	}
	if o.WorkersPerMember <= 0 {
		o.WorkersPerMember = defaultWorkersPerLane
	}
}

// Distributor writes copies in the members. It must be engaged with each member
// that is connected, which adding it to a multicluster manager does; the Setup
// of the controller may come later.
type Distributor struct {
	*lanes
}

// NewDistributor makes a distributor. Its hub reads applications from a cache.
func NewDistributor(hub client.Reader, o Options) *Distributor {
	o.applyDefaults()
	return &Distributor{lanes: newLanes(hub, o)}
}

// Setup adds the reconciler of applications to a manager. The kinds EcommerceApp
// and MemberCluster must be served by then.
func (d *Distributor) Setup(mgr mcmanager.Manager) error {
	local := mgr.GetLocalManager()
	r := &Reconciler{
		client:   local.GetClient(),
		lanes:    d.lanes,
		clock:    d.options.Clock,
		recorder: d.options.Recorder,
		metrics:  d.options.Metrics,
		written:  newWritten(),
	}
	err := builder.ControllerManagedBy(local).
		Named(controllerName).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: d.options.Workers,
			RateLimiter:             newRateLimiter[reconcile.Request](time.Second, 5*time.Minute),
		}).
		Watches(&v1.EcommerceApp{}, d.onApp()).
		Watches(&v1.MemberCluster{}, d.onMember(r), builder.WithPredicates(memberChanged())).
		WatchesRawSource(d.wake.source()).
		Complete(r)
	if err != nil {
		return fmt.Errorf("adding the controller of applications: %w", err)
	}
	return nil
}

// onApp wakes the reconciler for each change of an application, its own writes
// included: they carry the version that the next decision needs. The same change
// goes to the lanes of the members that it is about.
func (d *Distributor) onApp() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			if app, ok := e.Object.(*v1.EcommerceApp); ok {
				d.dispatch(nil, app)
			}
			q.Add(requestFor(e.Object))
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, _ := e.ObjectOld.(*v1.EcommerceApp)
			if app, ok := e.ObjectNew.(*v1.EcommerceApp); ok {
				d.dispatch(before, app)
			}
			q.Add(requestFor(e.ObjectNew))
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			if app, ok := e.Object.(*v1.EcommerceApp); ok {
				d.dispatch(nil, app)
			}
			q.Add(requestFor(e.Object))
		},
	}
}

// onMember wakes the reconciler for all applications: any of them may be placed
// otherwise now.
func (d *Distributor) onMember(r *Reconciler) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, member client.Object) []reconcile.Request {
		if member.GetDeletionTimestamp() != nil {
			d.options.Metrics.forgetMember(member.GetName())
		}
		return r.allApps(ctx)
	})
}

func requestFor(o client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
}
