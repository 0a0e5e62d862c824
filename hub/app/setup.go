package app

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/copies"
	"github.com/shopfleet/shopfleet/hub/app/state"
	runtimecontroller "github.com/shopfleet/shopfleet/spoke/runtime/controller"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// controllerName is the name of the controller in logs and metrics.
const controllerName = "ecommerceapp-fleet"

// Controller places applications and dispatches their copies to the members. It is safe
// for concurrent use.
type Controller struct {
	options    Options
	dispatcher *copies.Dispatcher
	state      *state.State
	// queue enqueues applications whose backups have changed, and those that the reconciler enqueues for later.
	queue runtimecontroller.Queue
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
		safeMode:   c.options.SafeMode,
		queue:      &c.queue,
		progress:   retry.NewProgress(c.options.ProgressPeriod),
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
		WatchesRawSource(c.queue.Source()).
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
