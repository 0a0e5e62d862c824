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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/controller/reconciler"
	"github.com/shopfleet/shopfleet/spoke/render"
	runtimecontroller "github.com/shopfleet/shopfleet/spoke/runtime/controller"
	"github.com/shopfleet/shopfleet/spoke/runtime/podexec"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// AnyKind is a kind that can be reconciled; see EcommerceApp, WebApp and MySQLCluster.
type AnyKind = reconciler.AnyKind

// Metrics are the metrics of applications.
type Metrics = reconciler.Metrics

// NewMetrics returns metrics that are registered with a registry.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	return reconciler.NewMetrics(registry)
}

// Exec runs a command in a container.
type Exec func(context.Context, cluster.Cluster, podexec.Container, podexec.Command) (string, error)

// Options configure how applications are reconciled in each cluster.
type Options struct {
	// Kinds are reconciled in each cluster.
	Kinds []AnyKind
	// Facts returns what is known of a cluster: at least its name, and its
	// provider and region. The default is the name, and RunbookURL.
	Facts func(cluster string) render.Cluster
	// RunbookURL is the page that the alerts of applications link to.
	RunbookURL string
	// Metrics may be nil.
	Metrics *Metrics
	Logger  logr.Logger
	// Paused reports, when a cluster is engaged, whether nothing is to be written there but
	// statuses. By default none is paused.
	Paused func(cluster string) bool
	// OnStatus receives each object with the status that is about to be written or, in a cluster
	// that is paused, is then not written either. It must not block. May be nil.
	OnStatus func(ctx context.Context, cluster string, object client.Object)

	// Workers is the number of applications of one kind that are reconciled at a time in
	// one cluster. The default is 4.
	Workers int
	// Timeout is the deadline of each request. The default is 10 s.
	Timeout time.Duration
	// Waits changes how long the reconcilers wait; the default leaves it as it is.
	Waits retry.Waits
	// Exec runs a command in a container of a cluster. The default does so through its API
	// server.
	Exec Exec
	// Clock is the source of time, Random the source of secrets. The defaults are real.
	Clock  clock.Clock
	Random io.Reader
}

func (o Options) withDefaults() Options {
	if o.Facts == nil {
		o.Facts = func(cluster string) render.Cluster { return render.Cluster{Name: cluster, RunbookURL: o.RunbookURL} }
	}
	if o.Workers == 0 {
		o.Workers = 4
	}
	if o.Timeout == 0 {
		o.Timeout = apply.DefaultTimeout
	}
	if o.Exec == nil {
		o.Exec = podexec.Run
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
		Metrics: o.Metrics, Timeout: o.Timeout, Waits: o.Waits, Clock: o.Clock, Random: o.Random,
	}
}

// restartAfter is the pause before a cluster is asked again for a kind that it lacks.
const restartAfter = 5 * time.Second

// ClusterRunner runs a controller per kind in each engaged cluster. It is safe for
// concurrent use.
type ClusterRunner struct {
	*runtimecontroller.Runner[struct{}]
	options Options

	mu sync.Mutex
	// running are the clusters whose controllers run, by name.
	running map[string]*running
}

// running is a cluster whose controllers run.
type running struct {
	*member
	cluster cluster.Cluster
}

// NewClusterRunner returns a ClusterRunner that is not started.
func NewClusterRunner(o Options) *ClusterRunner {
	o = o.withDefaults()
	return &ClusterRunner{
		options: o,
		running: make(map[string]*running),
		Runner:  runtimecontroller.New[struct{}](runtimecontroller.Options{Logger: o.Logger, RestartDelay: restartAfter}),
	}
}

// Engage runs the controllers for a cluster until ctx is done.
func (r *ClusterRunner) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	r.Runner.Engage(ctx, name, runtimecontroller.Engagement[struct{}]{Cluster: cl, Run: func(ctx context.Context) error {
		return r.run(ctx, name.String(), cl)
	}})
	return nil
}

// run runs the controllers of one cluster until ctx is done. It fails if the cluster does
// not answer.
func (r *ClusterRunner) run(ctx context.Context, name string, cl cluster.Cluster) error {
	m, err := newMember(ctx, name, cl, r.options)
	if err != nil {
		return err
	}
	defer r.options.Metrics.Leave(name)
	defer r.enter(name, &running{member: m, cluster: cl})()
	var group sync.WaitGroup
	group.Go(func() { m.optional.run(ctx) })
	for _, kind := range r.options.Kinds {
		kindName, _ := kind.Identity()
		logger := r.options.Logger.WithValues("cluster", name, "kind", kindName)
		group.Go(func() {
			r.Keep(ctx, logger, func(ctx context.Context) error { return r.runKind(ctx, kind, cl, m) })
		})
	}
	group.Wait()
	return nil
}

// enter records that the controllers of a cluster run, until leave is called.
func (r *ClusterRunner) enter(name string, m *running) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[name] = m
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.running[name] == m {
			delete(r.running, name)
		}
	}
}

// runKind runs the controller of one kind in one cluster, as soon as the cluster serves
// the kind.
func (r *ClusterRunner) runKind(ctx context.Context, kind AnyKind, cl cluster.Cluster, m *member) error {
	name, _ := kind.Identity()
	gvk, err := apiutil.GVKForObject(kind.Object(), cl.GetScheme())
	if err != nil {
		return fmt.Errorf("finding kind %q in the scheme: %w", name, err)
	}
	if !r.awaitKind(ctx, gvk, cl, m) {
		return nil
	}
	return runtimecontroller.Controller{
		Name: name, Cluster: m.Name, Logger: r.options.Logger,
		Reconciler: kind.Reconciler(m.Member),
		Sources:    sources(kind, gvk.GroupKind(), cl.GetCache(), m.optional),
		Workers:    r.options.Workers,
	}.Run(ctx)
}

// awaitKind blocks until a cluster serves a kind, and reports false if ctx ends first. It
// checks whenever the cluster's CRDs change, and periodically, since listing them may be
// forbidden.
func (r *ClusterRunner) awaitKind(ctx context.Context, gvk schema.GroupVersionKind, cl cluster.Cluster, m *member) bool {
	for said := false; ; said = true {
		news := m.optional.news()
		_, err := cl.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		if err == nil {
			return true
		}
		if !said {
			r.options.Logger.Info("The cluster does not serve the kind yet", "cluster", m.Name, "kind", gvk.Kind)
		}
		select {
		case <-ctx.Done():
			return false
		case <-news:
		case <-r.options.Clock.After(restartAfter):
		}
	}
}
