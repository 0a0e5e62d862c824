package dispatch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/aggregate"
	"github.com/shopfleet/shopfleet/hub/queues"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

// Lanes are the members that are engaged.
type Dispatcher struct {
	options Options
	// hub reads from the hub's cache.
	hub  client.Reader
	wake *queues.Wakeup
	seen *generations
	// written and decisions are what the reconciler of applications handed over.
	written   *written
	decisions *decisions

	running sync.WaitGroup

	mu     sync.RWMutex
	byName map[string]*MemberQueue
}

// New makes lanes to no member. Its hub reads applications and members from a cache.
func New(hub client.Reader, o Options) *Dispatcher {
	o.applyDefaults()
	return &Dispatcher{
		options: o, hub: hub, wake: &queues.Wakeup{}, seen: newGenerations(o.Clock),
		written: newWritten(), decisions: newDecisions(),
		byName: map[string]*MemberQueue{},
	}
}

// News wakes a controller for each application about which a lane has news.
func (l *Dispatcher) News() source.Source { return l.wake.Source() }

// Forget drops what is remembered of an application that is gone.
func (l *Dispatcher) Forget(app types.NamespacedName) {
	l.seen.forget(app)
	l.written.forget(app)
	l.decisions.forget(app)
	l.ForgetLookups(app)
}

// Start keeps the lanes company until the context ends, and then waits for them.
func (l *Dispatcher) Start(ctx context.Context) error {
	<-ctx.Done()
	l.running.Wait()
	return nil
}

// Engage opens a lane to a member. It ends with the context.
func (l *Dispatcher) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	logger := l.options.Logger.WithValues("cluster", name)
	lane := &MemberQueue{
		name: name.String(), managedBy: l.options.ManagedByMode(name.String()), options: l.options, hub: l.hub, cluster: cl, wake: l.wake, seen: l.seen,
		reports: newReports(), written: l.written, lookups: newLookups(), queue: &queues.Wakeup{},
		applier: apply.New(apply.Options{
			Client: cl.GetClient(), Reader: cl.GetAPIReader(),
			FieldManager: v1.HubFieldManager, Timeout: l.options.CallTimeout,
		}),
	}
	c, err := controller.NewUnmanaged(controllerName, controller.Options{
		Reconciler:              lane,
		MaxConcurrentReconciles: l.options.Workers,
		RateLimiter:             queues.NewRateLimiter[reconcile.Request](time.Second, time.Minute),
		Logger:                  logger,
		// Every member has a controller of this name, in turns and at once.
		SkipNameValidation: new(true),
	})
	if err != nil {
		return fmt.Errorf("making a queue for member %q: %w", name, err)
	}
	for _, s := range []source.Source{lane.queue.Source(), lane.copies(), l.all(lane)} {
		if err := c.Watch(s); err != nil {
			return fmt.Errorf("feeding the queue of member %q: %w", name, err)
		}
	}
	l.open(lane)
	// At once, not when the last worker is through: what the lane's cache says is
	// old from now on.
	context.AfterFunc(ctx, func() { l.close(context.WithoutCancel(ctx), lane) })
	l.running.Go(func() {
		if err := c.Start(ctx); err != nil {
			logger.Error(err, "Queue of a member ended")
		}
	})
	return nil
}

func (l *Dispatcher) open(next *MemberQueue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byName[next.name] = next
}

// close forgets a lane, unless it has been followed by another already, and has
// all applications looked at that may be there.
func (l *Dispatcher) close(ctx context.Context, ended *MemberQueue) {
	l.mu.Lock()
	if l.byName[ended.name] == ended {
		delete(l.byName, ended.name)
	}
	l.mu.Unlock()
	apps := &v1.EcommerceAppList{}
	if err := l.hub.List(ctx, apps, client.UnsafeDisableDeepCopy); err != nil {
		// The cache fails only when the process ends.
		return
	}
	for i := range apps.Items {
		if EntryOf(&apps.Items[i], ended.name) != nil {
			l.wake.Add(requestFor(&apps.Items[i]))
		}
	}
}

// Get returns the lane of an engaged member, or nil.
func (l *Dispatcher) Get(name string) *MemberQueue {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.byName[name]
}

// Observe fills in what is known of an application in the member: the copy from the
// cache, and what came of the last attempt to write it. It is false when the lane has
// yet to look at the application.
func (l *MemberQueue) Observe(ctx context.Context, app *v1.EcommerceApp, c *aggregate.Cluster) (bool, error) {
	found, known := l.reports.about(keyOf(app), app.UID)
	if !known && EntryOf(app, l.name) != nil {
		return false, nil
	}
	c.Failure, c.Gone = found.failure, found.gone
	live := &v1.EcommerceApp{}
	if err := l.cluster.GetCache().Get(ctx, keyOf(app), live, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return true, fmt.Errorf("reading the copy in member %q: %w", l.name, err)
	}
	c.Copy = observedCopy(app, live)
	return true, nil
}

// all wakes the lane and the reconciler for everything that the lane is about: a
// member that returns is brought up to date at once, without anybody's backoff.
func (l *Dispatcher) all(to *MemberQueue) source.Source {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		apps := &v1.EcommerceAppList{}
		if err := l.hub.List(ctx, apps, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing applications: %w", err)
		}
		for i := range apps.Items {
			request := requestFor(&apps.Items[i])
			l.seen.see(nil, &apps.Items[i])
			if EntryOf(&apps.Items[i], to.name) != nil || apps.Items[i].InventoryLost() {
				q.Add(request)
			}
			l.wake.Add(request)
		}
		return nil
	})
}

// Revisit has a member's copies looked at, since what they say about the member may
// have changed.
func (l *Dispatcher) Revisit(ctx context.Context, member string) {
	lane := l.Get(member)
	if lane == nil {
		return
	}
	apps := &v1.EcommerceAppList{}
	if err := l.hub.List(ctx, apps, client.UnsafeDisableDeepCopy); err != nil {
		// The cache fails only when the process ends.
		return
	}
	for i := range apps.Items {
		if EntryOf(&apps.Items[i], member) != nil {
			lane.queue.Add(requestFor(&apps.Items[i]))
		}
	}
}

// See records when a generation of an application reached the hub, to measure how long
// it takes to reach the members. Before is nil for an application that is new.
func (l *Dispatcher) See(before, app *v1.EcommerceApp) { l.seen.see(before, app) }

// Newest returns the newer of an application in the hub's cache and what the hub wrote
// last, and whether the cache has yet to catch up.
func (l *Dispatcher) Newest(cached *v1.EcommerceApp) (app *v1.EcommerceApp, ahead bool) {
	return l.written.newest(cached)
}

// Written hands over an application as the API server returned it after a write that
// replaced a version. The queues work with it before the hub's cache has it.
func (l *Dispatcher) Written(app *v1.EcommerceApp, replaced string) { l.written.record(app, replaced) }

// Dispatch enqueues an application in the queues of the members whose copies its stored
// status and spec change. It costs nothing for the others.
func (l *Dispatcher) Dispatch(app *v1.EcommerceApp) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, name := range l.decisions.replace(app) {
		if q := l.byName[name]; q != nil {
			q.queue.Add(requestFor(app))
		}
	}
}

// copies wakes a lane and the reconciler for each change of a copy in the member.
func (l *MemberQueue) copies() source.Source {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		informer, err := l.cluster.GetCache().GetInformer(ctx, &v1.EcommerceApp{})
		if err != nil {
			return fmt.Errorf("watching copies: %w", err)
		}
		changed := func(o any) {
			if tombstone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = tombstone.Obj
			}
			// The cache outlives the lane for a moment.
			if copied, ok := o.(*v1.EcommerceApp); ok && ctx.Err() == nil {
				q.Add(requestFor(copied))
				l.wake.Add(requestFor(copied))
			}
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    changed,
			UpdateFunc: func(_, o any) { changed(o) },
			DeleteFunc: changed,
		}); err != nil {
			return fmt.Errorf("watching copies: %w", err)
		}
		return nil
	})
}

// EntryOf returns the inventory's entry about a member, or nil.
func EntryOf(app *v1.EcommerceApp, member string) *v1.ClusterStatus {
	i := slices.IndexFunc(app.Status.Clusters, func(c v1.ClusterStatus) bool { return c.Name == member })
	if i < 0 {
		return nil
	}
	return &app.Status.Clusters[i]
}

// keyOf returns the key of an application and of its copies.
func keyOf(app *v1.EcommerceApp) types.NamespacedName {
	return client.ObjectKeyFromObject(app)
}
