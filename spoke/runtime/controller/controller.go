package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// Defaults of a Controller.
const (
	defaultWorkers    = 4
	defaultFirstRetry = time.Second
	defaultLastRetry  = 5 * time.Minute
	// DefaultResync is the default of Controller.Resync.
	DefaultResync = 10 * time.Minute
	// syncTimeout is how long sources may take until a controller starts. Those of the spoke wait up to five
	// minutes for the kinds that a cluster need not have, and start then.
	syncTimeout = 10 * time.Minute
)

// Controller is one controller of one cluster.
type Controller struct {
	// Name identifies the controller in logs and, with Cluster, in metrics. Required.
	Name string
	// Cluster is the name of the cluster; empty if there is only one.
	Cluster string
	// Reconciler processes the requests. It may return an error and a RequeueAfter: the next pass comes after that or as a
	// retry, whichever is sooner. Required.
	Reconciler reconcile.Reconciler
	// Queue adds requests from outside. Optional.
	Queue *Queue
	// Sources add requests as well.
	Sources []source.Source
	// List returns all requests. They are added when the controller starts and then at
	// each Resync, with jitter and low priority. Optional.
	List func(ctx context.Context) ([]reconcile.Request, error)
	// Resync is the period of List. The default is 10 min.
	Resync time.Duration
	// Workers is the number of requests that are processed at a time. The default is 4.
	Workers int
	// FirstRetry and LastRetry bound the delay after a failure. The defaults are 1 s and 5 min.
	FirstRetry, LastRetry time.Duration
	// Logger is the parent of the reconciler's logger. The default discards.
	Logger logr.Logger
}

func (c *Controller) applyDefaults() {
	if c.Queue == nil {
		c.Queue = &Queue{}
	}
	if c.Resync <= 0 {
		c.Resync = DefaultResync
	}
	if c.Workers <= 0 {
		c.Workers = defaultWorkers
	}
	if c.FirstRetry <= 0 {
		c.FirstRetry = defaultFirstRetry
	}
	if c.LastRetry <= 0 {
		c.LastRetry = defaultLastRetry
	}
	if c.Logger.GetSink() == nil {
		c.Logger = logr.Discard()
	}
}

// Run runs the controller until ctx is done, and returns when its workers have finished.
// An error means that it could not start.
func (c Controller) Run(ctx context.Context) error {
	c.applyDefaults()
	id := c.Name
	// The name of the local cluster is empty.
	logger := c.Logger.WithValues("controller", c.Name, "cluster", c.Cluster)
	if c.Cluster != "" {
		id += "/" + c.Cluster
	}
	unmanaged, err := controller.NewUnmanaged(id, controller.Options{
		Reconciler:              reconcile.Func(c.reconcile),
		MaxConcurrentReconciles: c.Workers,
		RateLimiter:             NewRateLimiter[reconcile.Request](c.FirstRetry, c.LastRetry),
		Logger:                  logger,
		NewQueue:                newPriorityQueue,
		CacheSyncTimeout:        syncTimeout,
		LogConstructor: func(request *reconcile.Request) logr.Logger {
			if request == nil {
				return logger
			}
			return logger.WithValues("namespace", request.Namespace, "name", request.Name)
		},
		// A cluster is engaged again under its name.
		SkipNameValidation: new(true),
	})
	if err != nil {
		return fmt.Errorf("creating controller %q: %w", id, err)
	}
	sources := append([]source.Source{c.Queue.Source()}, c.Sources...)
	if c.List != nil {
		sources = append(sources, c.first())
	}
	for _, s := range sources {
		if err := unmanaged.Watch(s); err != nil {
			return fmt.Errorf("adding a source to controller %q: %w", id, err)
		}
	}
	defer deleteSeries(id)
	// A controller that cannot start leaves its queue open until its context is done.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if c.List != nil {
		defer c.resync(ctx, logger)()
	}
	if err := unmanaged.Start(ctx); err != nil {
		return fmt.Errorf("running controller %q: %w", id, err)
	}
	return nil
}

// reconcile drops what is left in the queue when ctx is done.
func (c Controller) reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	select {
	case <-ctx.Done():
		return reconcile.Result{}, nil
	default:
		result, err := c.Reconciler.Reconcile(ctx, request)
		return c.Queue.AddDue(request, result, err)
	}
}

// first returns the source that adds what List returns, or fails the start.
func (c Controller) first() source.Source {
	return source.Func(func(ctx context.Context, q workQueue) error {
		requests, err := c.List(ctx)
		if err != nil {
			return fmt.Errorf("listing requests: %w", err)
		}
		AddLowPriority(q, requests...)
		return nil
	})
}

// resync adds what List returns, each time that the period is over, until the function that it returns is
// called, which waits for the last time. Between them it has a timer and no goroutine: a fleet has
// several controllers for each member.
func (c Controller) resync(ctx context.Context, logger logr.Logger) (end func()) {
	var mu sync.Mutex
	var timer *time.Timer
	ended := false
	period := func() time.Duration { return retry.Jitter(c.Resync) }
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(period(), func() {
		mu.Lock()
		defer mu.Unlock()
		if ended {
			return
		}
		if requests, err := c.List(ctx); err != nil {
			logger.Error(err, "Listing requests for a resync failed")
		} else {
			c.Queue.AddLowPriority(requests...)
		}
		timer.Reset(period())
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
		timer.Stop()
	}
}

// rateLimiter spreads the delays of another limiter.
type rateLimiter[T comparable] struct {
	workqueue.TypedRateLimiter[T]
}

// NewRateLimiter returns a limiter that doubles the delay with each failure, from first to
// last, with jitter.
func NewRateLimiter[T comparable](first, last time.Duration) workqueue.TypedRateLimiter[T] {
	return rateLimiter[T]{workqueue.NewTypedItemExponentialFailureRateLimiter[T](first, last)}
}

// When returns the delay of the next attempt.
func (r rateLimiter[T]) When(item T) time.Duration {
	return retry.Jitter(r.TypedRateLimiter.When(item))
}
