package controller

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/controller/reconciler"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// Runner is a kind that can be reconciled; see EcommerceApp, WebApp and MySQLCluster.
type Runner = reconciler.Runner

// Metrics are what is counted of applications.
type Metrics = reconciler.Metrics

// NewMetrics returns metrics that are registered with a registry.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	return reconciler.NewMetrics(registry)
}

// Options are how applications are reconciled, in each cluster.
type Options struct {
	// Kinds are reconciled in each cluster.
	Kinds []Runner
	// Facts tells what is known of a cluster: at least its name, and its
	// provider and region. Nil means the name alone.
	Facts func(cluster string) render.Cluster
	// Metrics may be nil.
	Metrics *Metrics
	Logger  logr.Logger

	// Workers is how many applications of one kind are reconciled at a time in
	// one cluster. The default is 4.
	Workers int
	// Timeout is the deadline of each request. The default is 10 s.
	Timeout time.Duration
	// RetryAfter is when what a person has to mend is tried again. The default is 30 s.
	RetryAfter time.Duration
	// Resync is when an application is looked at although nothing happened. It
	// costs no request unless something differs. The default is 10 min.
	Resync time.Duration
	// Clock is the source of time, Random that of secrets. The defaults are real.
	Clock  clock.Clock
	Random io.Reader
}

func (o Options) withDefaults() Options {
	if o.Facts == nil {
		o.Facts = func(cluster string) render.Cluster { return render.Cluster{Name: cluster} }
	}
	if o.Workers == 0 {
		o.Workers = 4
	}
	if o.Timeout == 0 {
		o.Timeout = apply.DefaultTimeout
	}
	if o.RetryAfter == 0 {
		o.RetryAfter = 30 * time.Second
	}
	if o.Resync == 0 {
		o.Resync = 10 * time.Minute
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return o
}

func (o Options) settings() reconciler.Settings {
	return reconciler.Settings{
		Metrics: o.Metrics, Timeout: o.Timeout, RetryAfter: o.RetryAfter, Resync: o.Resync, Clock: o.Clock, Random: o.Random,
	}
}

// restartAfter is when a controller that ended by itself is started again.
const restartAfter = 5 * time.Second

// Engager runs a controller per kind in each cluster that is engaged, from when
// it is started until it is stopped.
type ClusterRunner struct {
	options          Options
	started, stopped chan struct{}
	running          sync.WaitGroup

	mu       sync.Mutex
	clusters map[multicluster.ClusterName]runningCluster
}

// engagement is a cluster that is engaged, until done is closed.
type runningCluster struct {
	cluster cluster.Cluster
	done    chan struct{}
}

// NewClusterRunner returns an Engager that is not started.
func NewClusterRunner(o Options) *ClusterRunner {
	return &ClusterRunner{
		options:  o.withDefaults(),
		started:  make(chan struct{}),
		stopped:  make(chan struct{}),
		clusters: make(map[multicluster.ClusterName]runningCluster),
	}
}

// Start lets the controllers of engaged clusters run until the context ends, and
// returns when they have.
func (e *ClusterRunner) Start(ctx context.Context) error {
	close(e.started)
	<-ctx.Done()
	close(e.stopped)
	e.running.Wait()
	return nil
}

// Engage runs the controllers for a cluster until the context ends. It does not
// block. The same cluster twice is engaged once; another of the same name starts
// when the former has ended.
func (e *ClusterRunner) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	former, exists := e.clusters[name]
	if exists && former.cluster == cl {
		return nil
	}
	now := runningCluster{cluster: cl, done: make(chan struct{})}
	e.clusters[name] = now
	e.running.Go(func() {
		defer e.stop(name, now)
		if exists {
			select {
			case <-former.done:
			case <-ctx.Done():
				return
			case <-e.stopped:
				return
			}
		}
		e.run(ctx, name, cl)
	})
	return nil
}

// disengage forgets a cluster whose controllers have ended.
func (e *ClusterRunner) stop(name multicluster.ClusterName, was runningCluster) {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(was.done)
	if e.clusters[name] == was {
		delete(e.clusters, name)
		e.options.Metrics.Leave(name.String())
	}
}

// run runs the controllers of one cluster until it is disengaged or all is stopped.
func (e *ClusterRunner) run(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) {
	select {
	case <-e.started:
	case <-ctx.Done():
		return
	case <-e.stopped:
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-ctx.Done():
		case <-e.stopped:
			cancel()
		}
	}()
	m := e.member(ctx, name, cl)
	if m == nil {
		return
	}
	var running sync.WaitGroup
	running.Go(func() { m.optional.run(ctx) })
	for _, kind := range e.options.Kinds {
		running.Go(func() { e.runKind(ctx, kind, cl, m) })
	}
	running.Wait()
}

// member makes what the reconcilers of a cluster share; nil when the context
// ended first. It asks the cluster, which may not answer at first.
func (e *ClusterRunner) member(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) *member {
	for {
		m, err := newMember(name.String(), cl, e.options)
		if err == nil {
			return m
		}
		e.options.Logger.Error(err, "cannot engage the cluster yet", "cluster", name)
		select {
		case <-ctx.Done():
			return nil
		case <-e.options.Clock.After(restartAfter):
		}
	}
}

// runKind runs the controller of one kind in one cluster, as soon as the cluster
// has the kind, and again should it end by itself.
func (e *ClusterRunner) runKind(ctx context.Context, kind Runner, cl cluster.Cluster, m *member) {
	name, crd := kind.Identity()
	log := e.options.Logger.WithValues("cluster", m.Name, "kind", name)
	gvk, err := apiutil.GVKForObject(kind.Object(), cl.GetScheme())
	if err != nil {
		log.Error(err, "the kind is not in the scheme")
		return
	}
	for ctx.Err() == nil {
		if !e.awaitKind(ctx, gvk, cl, m) {
			return
		}
		err := e.runController(ctx, kind, gvk.GroupKind(), cl, m)
		if ctx.Err() != nil {
			return
		}
		log.Error(err, "the controller ended; starting it again", "crd", crd)
		select {
		case <-ctx.Done():
		case <-e.options.Clock.After(restartAfter):
		}
	}
}

// awaitKind waits until a cluster serves a kind. It looks again whenever the
// cluster's CRDs change, and now and then, as it may not be allowed to list them.
func (e *ClusterRunner) awaitKind(ctx context.Context, gvk schema.GroupVersionKind, cl cluster.Cluster, m *member) bool {
	for said := false; ; said = true {
		news := m.optional.news()
		_, err := cl.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		if err == nil {
			return true
		}
		if !said {
			e.options.Logger.Info("the cluster does not have the kind yet", "cluster", m.Name, "kind", gvk.Kind)
		}
		select {
		case <-ctx.Done():
			return false
		case <-news:
		case <-e.options.Clock.After(restartAfter):
		}
	}
}

func (e *ClusterRunner) runController(ctx context.Context, kind Runner, owner schema.GroupKind, cl cluster.Cluster, m *member) error {
	name, _ := kind.Identity()
	log := e.options.Logger.WithValues("controller", name, "cluster", m.Name)
	skip, recoverPanic := true, true
	c, err := controller.NewTypedUnmanaged(name, controller.TypedOptions[reconcile.Request]{
		SkipNameValidation:      &skip,
		RecoverPanic:            &recoverPanic,
		MaxConcurrentReconciles: e.options.Workers,
		Reconciler:              kind.Reconciler(m.Member),
		RateLimiter:             reconciler.NewLimiter(),
		Logger:                  log,
		LogConstructor: func(req *reconcile.Request) logr.Logger {
			if req == nil {
				return log
			}
			return log.WithValues("namespace", req.Namespace, "name", req.Name)
		},
	})
	if err != nil {
		return fmt.Errorf("making the controller of %s: %w", name, err)
	}
	for _, s := range sources(kind, owner, cl.GetCache(), m.optional) {
		if err := c.Watch(s); err != nil {
			return fmt.Errorf("watching for %s: %w", name, err)
		}
	}
	return c.Start(ctx)
}
