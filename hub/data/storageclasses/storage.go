package storageclasses

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	controllerName = "storage"
	// appsByCluster indexes applications that need a class of their own by the clusters that they
	// are in.
	appsByCluster = "storage/status.clusters.name"
	callTimeout   = 10 * time.Second
	defaultResync = time.Hour
)

// Options configure the controller.
type Options struct {
	// Recorder records events on MemberClusters. Required.
	Recorder events.EventRecorder
	// Revisions says what members have of applications. Required for those with a rollout.
	Revisions *revisions.Store
	// Logger is the logger of the members' queues. The default discards.
	Logger logr.Logger
	// Clock is the source of time. The default is the real one.
	Clock clock.PassiveClock
	// Resync is the period after which a member is checked without a cause. The default is
	// 1 h.
	Resync time.Duration
	// Waits changes how long the controller waits; the default leaves it as it is.
	Waits retry.Waits
}

// Storage runs a controller of storage classes for each connected member. It is safe for
// concurrent use.
type Storage struct {
	*controller.Runner[*member]
	options Options
	hub     client.Client
}

// member is a connected member.
type member struct {
	*Storage
	name    string
	cluster cluster.Cluster
	applier *apply.Applier
	queue   *controller.Queue

	conflicts retry.Conflicts
}

// New returns a Storage without members. Its hub reads MemberClusters and EcommerceApps
// from a cache.
func New(hub client.Client, o Options) *Storage {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Resync <= 0 {
		o.Resync = o.Waits.Scaled(defaultResync)
	}
	return &Storage{Runner: controller.New[*member](controller.Options{Logger: o.Logger}), options: o, hub: hub}
}

// Watched returns the types whose informers a member's cache must have.
func Watched() []client.Object { return []client.Object{&storagev1.StorageClass{}} }

// Setup adds a controller that enqueues members when the hub's objects about them change.
func (s *Storage) Setup(ctx context.Context, mgr manager.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1.EcommerceApp{}, appsByCluster, clustersWithClass); err != nil {
		return fmt.Errorf("indexing applications by cluster: %w", err)
	}
	err := builder.ControllerManagedBy(mgr).
		Named(controllerName+"-router").
		For(&v1.MemberCluster{}, builder.WithPredicates(controller.Changes(memberChanged))).
		Watches(&v1.EcommerceApp{}, handler.EnqueueRequestsFromMapFunc(clustersOf), builder.WithPredicates(appChanges())).
		Complete(reconcile.Func(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
			if m, engaged := s.Get(request.Name); engaged {
				m.queue.Add(request)
			}
			return reconcile.Result{}, nil
		}))
	if err != nil {
		return fmt.Errorf("adding the controller of storage: %w", err)
	}
	return nil
}

// clustersOf returns requests for the clusters in which an application needs a class.
func clustersOf(_ context.Context, o client.Object) []reconcile.Request {
	clusters := clustersWithClass(o)
	requests := make([]reconcile.Request, 0, len(clusters))
	for _, cluster := range clusters {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Name: cluster}})
	}
	return requests
}

// Engage runs the controller of a member until ctx is done.
func (s *Storage) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	m := &member{
		Storage: s, name: name.String(), cluster: cl, queue: &controller.Queue{},
		applier: apply.New(apply.Options{
			Client: cl.GetClient(), Reader: cl.GetAPIReader(), FieldManager: v1.HubFieldManager, Timeout: callTimeout,
		}),
	}
	classes := source.Kind(cl.GetCache(), &storagev1.StorageClass{}, handler.TypedEnqueueRequestsFromMapFunc(
		func(context.Context, *storagev1.StorageClass) []reconcile.Request {
			return []reconcile.Request{m.request()}
		}))
	c := controller.Controller{
		Name: controllerName, Cluster: m.name, Reconciler: m, Queue: m.queue, Logger: s.options.Logger,
		Sources: []source.Source{classes},
		List:    func(context.Context) ([]reconcile.Request, error) { return []reconcile.Request{m.request()}, nil },
		Workers: 1, Resync: s.options.Resync,
	}
	s.Runner.Engage(ctx, name, controller.Engagement[*member]{Cluster: cl, Value: m, Run: c.Run})
	return nil
}

func (m *member) request() reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: m.name}}
}
