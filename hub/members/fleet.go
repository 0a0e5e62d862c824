package members

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/conditions"
	"github.com/shopfleet/shopfleet/hub/members/connection"
)

// ErrStarted tells that a Fleet was started twice.
var ErrStarted = errors.New("fleet is started already")

// Fleet is all members. Its methods may be called at the same time and none waits
// for the network of a member, but for IndexField, which may wait for a cache.
type Fleet struct {
	settings *connection.Settings
	claims   *conditions.Claims
	// pending wakes Start when there are accessors to start.
	pending chan struct{}

	mu        sync.RWMutex
	started   bool
	accessors map[string]*accessor
	indexes   []connection.Index
	listeners map[*listener]struct{}
}

// The interfaces of multicluster-runtime that make the fleet a provider.
var (
	_ multicluster.Provider         = (*Fleet)(nil)
	_ multicluster.ProviderRunnable = (*Fleet)(nil)
)

type listener struct {
	call func(name string)
}

// New makes a fleet without members. They are connected while Start runs.
func New(options Options) *Fleet {
	return &Fleet{
		settings:  options.settings(),
		claims:    conditions.NewClaims(options.HubUID),
		pending:   make(chan struct{}, 1),
		accessors: map[string]*accessor{},
		listeners: map[*listener]struct{}{},
	}
}

// Pin says which cluster belongs to a name before the member is set, so that of two
// names for one cluster the right one is admitted in whatever order they come. An
// empty UID says nothing but the time.
func (f *Fleet) Pin(name, uid string, registeredAt time.Time) { f.claims.Pin(name, uid, registeredAt) }

// Set makes a member, or changes how it is reached. The same target again does
// nothing.
func (f *Fleet) Set(name string, target Target) {
	target.Kubeconfig = bytes.Clone(target.Kubeconfig)
	target.Health = target.Health.withDefaults()
	target.Mode = cmp.Or(target.Mode, v1.ModeAgentless)
	f.claims.Pin(name, target.PinnedUID, target.RegisteredAt)
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.accessors[name]
	if a != nil && !a.removed {
		a.retarget(target)
		return
	}
	next := newAccessor(name, target)
	if a != nil {
		// The new one waits until the old one has disengaged.
		next.after = a.done
	}
	f.accessors[name] = next
	f.wake()
}

// Remove disengages a member and forgets it. Nothing on the member is touched. It
// returns before the member's reconcilers have stopped.
func (f *Fleet) Remove(name string) {
	f.mu.Lock()
	a := f.accessors[name]
	if a == nil || a.removed {
		f.mu.Unlock()
		return
	}
	a.removed = true
	if a.cancel != nil {
		a.cancel() // Its goroutine takes it out of the map when it is through.
	} else {
		delete(f.accessors, name)
		close(a.done)
	}
	f.claims.Forget(name) // After the end of its context; see Claims.Admit.
	// Another name for the same cluster may be admitted now.
	for _, other := range f.accessors {
		other.signal()
	}
	f.mu.Unlock()
	f.notify(name)
}

// State returns how a member is; false if there is no such member.
func (f *Fleet) State(name string) (State, bool) {
	a := f.accessor(name)
	if a == nil {
		return State{}, false
	}
	return a.current(), true
}

// Names returns the names of all members, engaged or not, sorted.
func (f *Fleet) Names() []string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.Sorted(func(yield func(string) bool) {
		for name, a := range f.accessors {
			if !a.removed && !yield(name) {
				return
			}
		}
	})
}

// Get returns the cluster of an engaged member. The error wraps
// multicluster.ErrClusterNotFound for any other, which never means that what runs
// there is gone.
func (f *Fleet) Get(_ context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
	if a := f.accessor(name.String()); a != nil {
		if c := a.engaged(); c != nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("getting member %q: not engaged: %w", name, multicluster.ErrClusterNotFound)
}

// Mode returns the mode that a member is engaged in, which follows what was set when
// the member could be connected so: while reconcilers are engaged it does not change.
// It is empty for a member that is not engaged.
func (f *Fleet) Mode(name string) v1.Mode {
	if a := f.accessor(name); a != nil {
		return a.engagedIn()
	}
	return ""
}

// IndexField indexes a field in the caches of all members, now and in future.
func (f *Fleet) IndexField(ctx context.Context, object client.Object, field string, extract client.IndexerFunc) error {
	f.mu.Lock()
	f.indexes = append(f.indexes, connection.Index{Object: object, Field: field, Extract: extract})
	accessors := slices.Collect(maps.Values(f.accessors))
	f.mu.Unlock()
	for _, a := range accessors {
		c := a.engaged()
		if c == nil {
			continue
		}
		if err := c.GetFieldIndexer().IndexField(ctx, object, field, extract); err != nil {
			return fmt.Errorf("indexing field %q of member %q: %w", field, a.name, err)
		}
	}
	return nil
}

// OnChange calls a function with the name of each member whose state changed in more
// than the time of the last probe, until the returned function is called. It must
// return at once, for example after adding to a queue; the state may have changed
// again when it is read.
func (f *Fleet) OnChange(call func(name string)) (stop func()) {
	l := &listener{call: call}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners[l] = struct{}{}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.listeners, l)
	}
}

// Start connects members and engages them with aware until the context ends; then
// it waits until all have stopped. It may be called once.
func (f *Fleet) Start(ctx context.Context, aware multicluster.Aware) error {
	f.mu.Lock()
	if f.started {
		f.mu.Unlock()
		return ErrStarted
	}
	f.started = true
	f.mu.Unlock()
	var group sync.WaitGroup
	defer group.Wait()
	for {
		for _, a := range f.unstarted() {
			running, cancel := context.WithCancel(ctx)
			if !f.launch(a, cancel) {
				cancel()
				continue
			}
			group.Go(func() {
				defer cancel()
				f.run(running, a, aware)
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.pending:
		}
	}
}

func (f *Fleet) unstarted() []*accessor {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.Collect(func(yield func(*accessor) bool) {
		for _, a := range f.accessors {
			if a.cancel == nil && !yield(a) {
				return
			}
		}
	})
}

// launch hands an accessor what ends it, unless it was removed in the meantime.
func (f *Fleet) launch(a *accessor, cancel context.CancelFunc) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if a.removed {
		return false
	}
	a.cancel = cancel
	return true
}

// run runs an accessor to its end.
func (f *Fleet) run(ctx context.Context, a *accessor, aware multicluster.Aware) {
	defer f.retire(a)
	if a.after != nil {
		<-a.after // Ends soon: it was told to.
	}
	newLoop(f, a, aware).run(ctx)
}

func (f *Fleet) retire(a *accessor) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.accessors[a.name] == a {
		delete(f.accessors, a.name)
	}
	close(a.done)
}

func (f *Fleet) accessor(name string) *accessor {
	f.mu.RLock()
	defer f.mu.RUnlock()
	a := f.accessors[name]
	if a == nil || a.removed {
		return nil
	}
	return a
}

func (f *Fleet) wake() {
	select {
	case f.pending <- struct{}{}:
	default:
	}
}

func (f *Fleet) notify(name string) {
	f.mu.RLock()
	listeners := slices.Collect(maps.Keys(f.listeners))
	f.mu.RUnlock()
	for _, l := range listeners {
		l.call(name)
	}
}

func (f *Fleet) fieldIndexes() []connection.Index {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.Clone(f.indexes)
}
