package queues

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
)

const (
	defaultWorkers = 2
	retryFirst     = time.Second
	retryLast      = 5 * time.Minute
)

// Options are what queues are made with.
type Options struct {
	// Name is that of the controller in logs and metrics. Required.
	Name string
	// Reconciler works on the requests of all queues. Required.
	Reconciler reconcile.Reconciler
	// Workers is how many requests of one key are worked on at a time. The default is 2.
	Workers int
	// Logger is where the queues log; the default is nowhere.
	Logger logr.Logger
}

// Keyed has a queue and workers for each key. Its methods may be called at the same time.
type Keyed struct {
	options Options

	running sync.WaitGroup

	mu     sync.Mutex
	queues map[string]*queue
	// open starts the workers of a queue; nil before Start.
	open func(key string, q *queue)
}

// queue is that of one key. Until its controller has started, requests wait in early.
type queue struct {
	mu    sync.Mutex
	live  workqueue.TypedRateLimitingInterface[reconcile.Request]
	early []reconcile.Request
}

// NewKeyed makes queues for no key yet.
func NewKeyed(o Options) *Keyed {
	if o.Workers <= 0 {
		o.Workers = defaultWorkers
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	return &Keyed{options: o, queues: map[string]*queue{}}
}

// Add adds requests to the queue of a key. It never waits.
func (k *Keyed) Add(key string, requests ...reconcile.Request) {
	k.mu.Lock()
	q, known := k.queues[key]
	if !known {
		q = &queue{}
		k.queues[key] = q
		if k.open != nil {
			k.open(key, q)
		}
	}
	k.mu.Unlock()
	q.add(requests)
}

// Start works on what is added until the context ends, and then waits for the workers.
func (k *Keyed) Start(ctx context.Context) error {
	k.mu.Lock()
	k.open = func(key string, q *queue) {
		if ctx.Err() != nil {
			return
		}
		logger := k.options.Logger.WithValues("queue", key)
		k.running.Go(func() {
			if err := k.run(ctx, q, logger); err != nil {
				logger.Error(err, "Queue ended")
			}
		})
	}
	for key, q := range k.queues {
		k.open(key, q)
	}
	k.mu.Unlock()
	<-ctx.Done()
	k.running.Wait()
	return nil
}

func (k *Keyed) run(ctx context.Context, q *queue, logger logr.Logger) error {
	c, err := controller.NewUnmanaged(k.options.Name, controller.Options{
		Reconciler:              k.options.Reconciler,
		MaxConcurrentReconciles: k.options.Workers,
		RateLimiter:             NewRateLimiter[reconcile.Request](retryFirst, retryLast),
		Logger:                  logger,
		// Every key has a controller of this name.
		SkipNameValidation: new(true),
	})
	if err != nil {
		return fmt.Errorf("making the queue: %w", err)
	}
	if err := c.Watch(source.Func(func(_ context.Context, live workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		q.connect(live)
		return nil
	})); err != nil {
		return fmt.Errorf("feeding the queue: %w", err)
	}
	return c.Start(ctx)
}

func (q *queue) add(requests []reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.live == nil {
		q.early = append(q.early, requests...)
		return
	}
	for _, r := range requests {
		q.live.Add(r)
	}
}

func (q *queue) connect(live workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.live = live
	for _, r := range q.early {
		live.Add(r)
	}
	q.early = nil
}

// Router is a reconciler that hands requests over to the queues of their keys, and so
// never waits for what they wait for.
type Router struct {
	To *Keyed
	// KeyOf returns the key of a request; empty drops the request.
	KeyOf func(ctx context.Context, request reconcile.Request) (string, error)
}

// Reconcile hands a request over.
func (r Router) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key, err := r.KeyOf(ctx, request)
	if err != nil {
		return reconcile.Result{}, err
	}
	if key != "" {
		r.To.Add(key, request)
	}
	return reconcile.Result{}, nil
}
