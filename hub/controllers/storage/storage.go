package storage

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/queues"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

const (
	controllerName = "storage"
	callTimeout    = 10 * time.Second
	retryFirst     = time.Second
	retryLast      = 5 * time.Minute
)

// Options are what the controller works with.
type Options struct {
	// Recorder records events on MemberClusters. Required.
	Recorder events.EventRecorder
	// Logger is where the queues of members log; the default is nowhere.
	Logger logr.Logger
	// Clock tells the time; the default is the real one.
	Clock clock.PassiveClock
}

// Storage keeps the classes of all members that are engaged.
type Storage struct {
	options Options
	hub     client.Client

	running sync.WaitGroup

	mu     sync.Mutex
	byName map[string]*member
}

// member is one that is engaged.
type member struct {
	*Storage
	name    string
	cluster cluster.Cluster
	applier *apply.Applier
	wake    *queues.Wakeup
}

// New makes the controller. Its hub reads MemberClusters and EcommerceApps from a cache.
func New(hub client.Client, o Options) *Storage {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	return &Storage{options: o, hub: hub, byName: map[string]*member{}}
}

// Watched returns the types whose informers a member's cache must have.
func Watched() []client.Object { return []client.Object{&storagev1.StorageClass{}} }

// Setup has members looked at when the hub's objects about them change.
func (s *Storage) Setup(mgr manager.Manager) error {
	err := builder.ControllerManagedBy(mgr).
		Named(controllerName+"-router").
		For(&v1.MemberCluster{}).
		Watches(&v1.EcommerceApp{}, handler.EnqueueRequestsFromMapFunc(clustersOf)).
		Complete(reconcile.Func(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
			s.mu.Lock()
			found := s.byName[request.Name]
			s.mu.Unlock()
			if found != nil {
				found.wake.Add(request)
			}
			return reconcile.Result{}, nil
		}))
	if err != nil {
		return fmt.Errorf("adding the controller of storage: %w", err)
	}
	return nil
}

// clustersOf are the clusters in which an application asks for a class.
func clustersOf(_ context.Context, o client.Object) []reconcile.Request {
	app, ok := o.(*v1.EcommerceApp)
	if !ok || app.Spec.CloudConfig == (v1.CloudConfig{}) {
		return nil
	}
	var requests []reconcile.Request
	for _, c := range app.Status.Clusters {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Name: c.Name}})
	}
	return requests
}

// Start keeps the queues company until the context ends, and then waits for them.
func (s *Storage) Start(ctx context.Context) error {
	<-ctx.Done()
	s.running.Wait()
	return nil
}

// Engage works on a member until the context ends.
func (s *Storage) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	logger := s.options.Logger.WithValues("cluster", name)
	m := &member{
		Storage: s, name: name.String(), cluster: cl, wake: &queues.Wakeup{},
		applier: apply.New(apply.Options{
			Client: cl.GetClient(), Reader: cl.GetAPIReader(), FieldManager: v1.HubFieldManager, Timeout: callTimeout,
		}),
	}
	c, err := controller.NewUnmanaged(controllerName, controller.Options{
		Reconciler:  m,
		RateLimiter: queues.NewRateLimiter[reconcile.Request](retryFirst, retryLast),
		Logger:      logger,
		// Every member has a controller of this name.
		SkipNameValidation: new(true),
	})
	if err != nil {
		return fmt.Errorf("making a queue for the storage of member %q: %w", name, err)
	}
	classes := source.Kind(cl.GetCache(), &storagev1.StorageClass{}, handler.TypedEnqueueRequestsFromMapFunc(
		func(context.Context, *storagev1.StorageClass) []reconcile.Request {
			return []reconcile.Request{m.request()}
		}))
	first := source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		q.Add(m.request())
		return nil
	})
	for _, from := range []source.Source{m.wake.Source(), first, classes} {
		if err := c.Watch(from); err != nil {
			return fmt.Errorf("feeding the queue for the storage of member %q: %w", name, err)
		}
	}
	s.mu.Lock()
	s.byName[m.name] = m
	s.mu.Unlock()
	context.AfterFunc(ctx, func() { s.leave(m) })
	s.running.Go(func() {
		if err := c.Start(ctx); err != nil {
			logger.Error(err, "Queue for the storage of a member ended")
		}
	})
	return nil
}

// leave forgets a member, unless it has been engaged anew already.
func (s *Storage) leave(ended *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName[ended.name] == ended {
		delete(s.byName, ended.name)
	}
}

func (m *member) request() reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: m.name}}
}
