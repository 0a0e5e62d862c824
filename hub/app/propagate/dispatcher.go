package propagate

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	// controllerName and sourcesName are the names of the members' queues, and of the one that reads the hub, in logs
	// and metrics.
	controllerName = "ecommerceapp-propagation"
	sourcesName    = "ecommerceapp-sources"

	// workers is the number of applications whose objects are written at a time in each member, or read on the hub.
	workers = 2
	// lastRetry bounds the delay before a failed write is tried again.
	lastRetry = time.Minute
)

// Options configure a Dispatcher. All of them are required, but for APIReader.
type Options struct {
	Clock    clock.PassiveClock
	Logger   logr.Logger
	Recorder events.EventRecorder
	// CallTimeout bounds each request.
	CallTimeout time.Duration
	// APIReader reads sources from the hub's API server. Without one nothing is propagated.
	APIReader client.Reader
	Revisions *revisions.Store
	State     *state.State
	Waits     retry.Waits
	// Resync is the period after which what is beside all copies of a member is checked; 0 is the default.
	Resync time.Duration
	// Wake is the queue of the reconciler of applications.
	Wake *controller.Queue
}

// Dispatcher reads sources on the hub, and runs a MemberQueue for each connected member. It is safe for concurrent use.
type Dispatcher struct {
	*controller.Runner[*MemberQueue]
	Options
	// hub reads from the hub's cache.
	hub   client.Reader
	reads *controller.Queue
}

// New returns a Dispatcher without members. Its hub reads applications from a cache.
func New(hub client.Reader, o Options) *Dispatcher {
	return &Dispatcher{Runner: controller.New[*MemberQueue](controller.Options{Logger: o.Logger}), Options: o, hub: hub, reads: &controller.Queue{}}
}

// Start reads sources and runs the queues of members until ctx is done.
func (d *Dispatcher) Start(ctx context.Context) error {
	reads := controller.Controller{
		Name: sourcesName, Reconciler: reconcile.Func(d.readSources), Queue: d.reads, Logger: d.Logger, Workers: workers, LastRetry: lastRetry,
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { d.Keep(ctx, d.Logger, reads.Run) })
	return d.Runner.Start(ctx)
}

// Engage runs the queue of a member until ctx is done.
func (d *Dispatcher) Engage(ctx context.Context, cl cluster.Cluster, m Member) {
	q := &MemberQueue{Member: m, dispatcher: d, cluster: cl}
	c := controller.Controller{
		Name: controllerName, Cluster: m.Name, Reconciler: q, Queue: m.Queue, Logger: d.Logger,
		Sources: []source.Source{q.objects()}, Workers: workers, LastRetry: lastRetry, Resync: d.Resync,
		List: func(context.Context) ([]reconcile.Request, error) {
			return controller.RequestsOf(m.Memory.Owners()...), nil
		},
	}
	d.Runner.Engage(ctx, multicluster.ClusterName(m.Name), controller.Engagement[*MemberQueue]{Cluster: cl, Value: q, Run: c.Run})
}

// Get returns the queue of a connected member, or nil.
func (d *Dispatcher) Get(member string) *MemberQueue {
	q, _ := d.Runner.Get(member)
	return q
}

// follow enqueues an application whose sources have changed, in its members and for its status.
func (d *Dispatcher) follow(app types.NamespacedName) {
	request := reconcile.Request{NamespacedName: app}
	d.Wake.Add(request)
	decision := d.State.Decision(app)
	if decision == nil {
		return
	}
	for member := range decision.Orders {
		if q := d.Get(member); q != nil {
			q.Queue.Add(request)
		}
	}
}
