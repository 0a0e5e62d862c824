package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
)

const defaultRestartDelay = 5 * time.Second

// Options configure a Runner.
type Options struct {
	// RestartDelay is the pause before something that ended by itself is run again. The
	// default is 5 s.
	RestartDelay time.Duration
	// Logger logs what ended by itself. The default discards.
	Logger logr.Logger
}

// Engagement represents an engaged cluster and the controllers that run for it.
type Engagement[T any] struct {
	// Cluster is the engaged cluster.
	Cluster cluster.Cluster
	// Value holds the value that Get returns while the cluster is engaged.
	Value T
	// Run runs the controllers until ctx is done. It is called again if it returns before.
	Run func(ctx context.Context) error
}

// Runner runs the controllers of engaged clusters, from its own start to its end. It is
// safe for concurrent use.
type Runner[T any] struct {
	options          Options
	started, stopped chan struct{}
	running          sync.WaitGroup

	mu sync.RWMutex
	// clusters holds the engagements of each name whose controllers have not ended, the
	// latest one at the end.
	clusters map[string][]*engaged[T]
}

// engaged is an engagement that ends with its context. done is closed once nothing of it
// runs any more.
type engaged[T any] struct {
	Engagement[T]
	ended <-chan struct{}
	done  chan struct{}
}

func (e *engaged[T]) over() bool { return closed(e.ended) }

// New returns a Runner that has not been started.
func New[T any](o Options) *Runner[T] {
	if o.RestartDelay <= 0 {
		o.RestartDelay = defaultRestartDelay
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	return &Runner[T]{
		options: o, started: make(chan struct{}), stopped: make(chan struct{}),
		clusters: make(map[string][]*engaged[T]),
	}
}

// Start runs the controllers of engaged clusters until ctx is done, and returns when they
// have ended.
func (r *Runner[T]) Start(ctx context.Context) error {
	close(r.started)
	<-ctx.Done()
	r.mu.Lock()
	close(r.stopped)
	r.mu.Unlock()
	r.running.Wait()
	return nil
}

// Engage runs an engagement until ctx is done, as soon as the former ones of the same name
// have ended. If it ends before them, they stay engaged. It does not block, and reports
// false for a cluster that is already engaged.
func (r *Runner[T]) Engage(ctx context.Context, name multicluster.ClusterName, e Engagement[T]) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	former := slices.Clone(r.clusters[name.String()])
	if last := latest(former); closed(r.stopped) || last != nil && last.Cluster == e.Cluster {
		return false
	}
	next := &engaged[T]{Engagement: e, ended: ctx.Done(), done: make(chan struct{})}
	r.clusters[name.String()] = append(former, next)
	r.running.Go(func() {
		defer r.leave(name.String(), next)
		for _, f := range former {
			select {
			case <-f.done:
			case <-ctx.Done():
				return
			}
		}
		r.run(ctx, name.String(), next)
	})
	return true
}

// latest returns the last engagement that is not over, or nil.
func latest[T any](all []*engaged[T]) *engaged[T] {
	for _, e := range slices.Backward(all) {
		if !e.over() {
			return e
		}
	}
	return nil
}

// leave forgets an engagement.
func (r *Runner[T]) leave(name string, e *engaged[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(e.done)
	others := slices.DeleteFunc(slices.Clone(r.clusters[name]), func(other *engaged[T]) bool { return other == e })
	if r.clusters[name] = others; len(others) == 0 {
		delete(r.clusters, name)
	}
}

func (r *Runner[T]) run(ctx context.Context, name string, e *engaged[T]) {
	select {
	case <-r.started:
	case <-r.stopped:
		return
	case <-ctx.Done():
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-r.stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	r.Keep(ctx, r.options.Logger.WithValues("cluster", name), e.Run)
}

// Keep calls run until ctx is done, with a pause after each return.
func (r *Runner[T]) Keep(ctx context.Context, logger logr.Logger, run func(ctx context.Context) error) {
	for ctx.Err() == nil {
		err := run(ctx)
		if ctx.Err() != nil {
			return
		}
		logger.Error(err, "Controllers ended; starting them again", "after", r.options.RestartDelay)
		select {
		case <-ctx.Done():
		case <-time.After(r.options.RestartDelay):
		}
	}
}

// Get returns the value of an engaged cluster. It reports false as soon as the context of
// the engagement is done.
func (r *Runner[T]) Get(name string) (T, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e := latest(r.clusters[name]); e != nil {
		return e.Value, true
	}
	var none T
	return none, false
}

// All returns the values of the engaged clusters.
func (r *Runner[T]) All() []T {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var all []T
	for _, engagements := range r.clusters {
		if e := latest(engagements); e != nil {
			all = append(all, e.Value)
		}
	}
	return all
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
