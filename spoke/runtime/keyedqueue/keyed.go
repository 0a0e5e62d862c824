package keyedqueue

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

const (
	defaultWorkers = 2
	defaultIdle    = 10 * time.Minute
)

// Options configure a Keyed.
type Options struct {
	// Name identifies the controllers in logs and, with the key, in metrics. Required.
	Name string
	// Reconciler processes the requests of all queues. Required.
	Reconciler reconcile.Reconciler
	// Workers is the number of requests of one key that are processed at a time. The
	// default is 2.
	Workers int
	// Idle is the time without requests after which a queue is released. The default is
	// 10 min, so that metrics of short work are collected.
	Idle time.Duration
	// Logger is the parent of the reconciler's logger. The default discards.
	Logger logr.Logger
}

// Keyed runs a controller for each key that has requests. It is safe for concurrent use.
type Keyed struct {
	options Options
	running sync.WaitGroup

	mu     sync.Mutex
	queues map[string]*queue
	// open starts the controller of a queue; nil before Start.
	open func(key string, q *queue)
}

// queue is the queue of one key.
type queue struct {
	controller.Queue
	release context.CancelFunc
	// pending counts, by request that is not done, how often it was added.
	pending map[reconcile.Request]int
	// idle means that nothing was pending when the queue was last checked.
	idle bool
}

// NewKeyed returns a Keyed without queues.
func NewKeyed(o Options) *Keyed {
	if o.Workers <= 0 {
		o.Workers = defaultWorkers
	}
	if o.Idle <= 0 {
		o.Idle = defaultIdle
	}
	return &Keyed{options: o, queues: map[string]*queue{}}
}

// Add adds requests to the queue of a key. It never blocks on a reconciler.
func (k *Keyed) Add(key string, requests ...reconcile.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	q, known := k.queues[key]
	if !known {
		q = &queue{pending: map[reconcile.Request]int{}}
		k.queues[key] = q
		if k.open != nil {
			k.open(key, q)
		}
	}
	q.idle = false
	for _, r := range requests {
		q.pending[r]++
	}
	q.Add(requests...)
}

// Start runs the controllers until ctx is done, and returns when their workers have
// finished.
func (k *Keyed) Start(ctx context.Context) error {
	k.mu.Lock()
	k.open = func(key string, q *queue) {
		if ctx.Err() != nil {
			return
		}
		ctx, release := context.WithCancel(ctx)
		q.release = release
		c := controller.Controller{
			Name: k.options.Name, Cluster: key, Queue: &q.Queue, Workers: k.options.Workers, Logger: k.options.Logger,
			Reconciler: k.counting(q),
		}
		k.running.Go(func() {
			if err := c.Run(ctx); err != nil {
				k.options.Logger.Error(err, "Queue ended", "queue", key)
			}
		})
	}
	for key, q := range k.queues {
		k.open(key, q)
	}
	k.mu.Unlock()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(k.options.Idle):
			k.releaseIdle()
		}
	}
	k.running.Wait()
	return nil
}

// counting returns a reconciler that counts which requests of a queue are pending.
func (k *Keyed) counting(q *queue) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		k.mu.Lock()
		before := q.pending[r]
		k.mu.Unlock()
		result, err := k.options.Reconciler.Reconcile(ctx, r)
		if result.RequeueAfter == 0 && (err == nil || errors.Is(err, reconcile.TerminalError(nil))) {
			k.mu.Lock()
			defer k.mu.Unlock()
			if q.pending[r] == before {
				delete(q.pending, r)
			}
		}
		return result, err
	})
}

// releaseIdle ends the controllers of queues that had no requests since the last call.
func (k *Keyed) releaseIdle() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, q := range k.queues {
		if q.idle && len(q.pending) == 0 {
			q.release()
			delete(k.queues, key)
		}
		q.idle = len(q.pending) == 0
	}
}

// Router is a reconciler that hands requests over to the queues of their keys, and so
// never waits for the network that they wait for.
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
