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
	"github.com/shopfleet/shopfleet/hub/members/connect"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// ErrStarted is returned when Start is called a second time.
var ErrStarted = errors.New("fleet is started already")

// Fleet connects to all members and implements the provider of multicluster-runtime. It
// is safe for concurrent use. No method waits for the network of a member, except
// IndexField, which may wait for a cache to sync.
type Fleet struct {
	settings *connect.Settings
	periods  Periods
	claims   *claims
	// safeMode is Options.SafeMode.
	safeMode bool
	// pending wakes Start when there are accessors to start.
	pending chan struct{}

	mu        sync.RWMutex
	started   bool
	accessors map[string]*accessor
	indexes   []connect.Index
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

// New returns a fleet without members. Members are connected while Start runs.
func New(options Options) *Fleet {
	return &Fleet{
		settings:  options.settings(),
		periods:   options.Periods.withDefaults(),
		claims:    newClaims(options.HubUID),
		safeMode:  options.SafeMode,
		pending:   make(chan struct{}, 1),
		accessors: map[string]*accessor{},
		listeners: map[*listener]struct{}{},
	}
}

// Pin records the UID of the cluster that is registered under name, before the member is
// set. Duplicate registrations of one cluster are then resolved alike regardless of the
// order in which they are added. An empty UID records the registration time only.
func (f *Fleet) Pin(name, uid string, registeredAt time.Time) { f.claims.Pin(name, uid, registeredAt) }

// Set adds a member, or changes how an existing one is reached. It does nothing if target
// is unchanged.
func (f *Fleet) Set(name string, target Target) {
	target.Kubeconfig = bytes.Clone(target.Kubeconfig)
	target.Health = target.Health.withDefaults()
	target.Mode = cmp.Or(target.Mode, v1.ModeAgentless)
	target.Paused = target.Paused || f.safeMode
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
		// The new accessor waits until the old one has disengaged.
		next.after = a.done
	}
	f.accessors[name] = next
	f.wake()
}

// Remove disengages a member and forgets it, also one that was pinned and never set,
// without changing anything in the member. It returns before the member's reconcilers have
// stopped.
func (f *Fleet) Remove(name string) {
	f.mu.Lock()
	a := f.accessors[name]
	exists := a != nil && !a.removed
	switch {
	case !exists:
	case a.cancel != nil:
		a.removed = true
		a.cancel() // Its goroutine removes it from the map when it ends.
	default:
		a.removed = true
		delete(f.accessors, name)
		close(a.done)
	}
	if f.claims.Forget(name) { // After its context has ended; see claims.Admit.
		// Another name for the same cluster may be admitted now.
		for _, other := range f.accessors {
			other.signal()
		}
	}
	f.mu.Unlock()
	if exists {
		f.notify(name)
	}
}

// State returns the state of a member, and false if there is no such member.
func (f *Fleet) State(name string) (State, bool) {
	a := f.accessor(name)
	if a == nil {
		return State{}, false
	}
	return a.current(), true
}

// Names returns the names of all members, connected or not, sorted.
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

// Get returns the cluster of a connected member. For any other member it returns an error
// that wraps multicluster.ErrClusterNotFound and apierror.ErrNotConnected; that error never
// means that the workloads in the member are gone.
func (f *Fleet) Get(_ context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
	if a := f.accessor(name.String()); a != nil {
		if c := a.engaged(); c != nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("getting member %q: %w: %w", name, apierror.ErrNotConnected, multicluster.ErrClusterNotFound)
}

// Mode returns the mode that a member is engaged in, or an empty string if the member is
// not engaged. It differs from the requested mode until the member could be connected in
// that mode, and does not change while reconcilers are engaged.
//
// A hub that starts while mode Agent is requested engages the member in that mode even if no agent was
// ever installed: the member is then not Ready and says why. Reconciling until there is one would need a
// third, persisted state.
func (f *Fleet) Mode(name string) v1.Mode {
	if a := f.accessor(name); a != nil {
		return a.engagedIn()
	}
	return ""
}

// Paused reports whether a member is engaged and paused. Like the mode, that does not change while
// reconcilers are engaged. A pause has effect at once; its end has effect when the member is
// connected again, which takes it over first.
func (f *Fleet) Paused(name string) bool {
	a := f.accessor(name)
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.paused
}

// Record returns the record of a connected member; nil if the member is not connected, or if
// the fleet keeps none.
func (f *Fleet) Record(name string) *Record {
	if a := f.accessor(name); a != nil {
		return a.recordOf()
	}
	return nil
}

// IndexField adds an index to the caches of all current and future members.
func (f *Fleet) IndexField(ctx context.Context, object client.Object, field string, extract client.IndexerFunc) error {
	f.mu.Lock()
	f.indexes = append(f.indexes, connect.Index{Object: object, Field: field, Extract: extract})
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

// OnChange registers a function that is called with the name of each member whose state
// changes, other than in timestamps, until stop is called. The function must not block:
// typically it adds to a queue. The state may have changed again by the time it is read.
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

// Start connects the members and engages them with aware. It blocks until ctx is done,
// then waits until all members have stopped. A second call returns ErrStarted.
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

// launch stores the function that cancels an accessor. It returns false if the accessor
// was removed in the meantime.
func (f *Fleet) launch(a *accessor, cancel context.CancelFunc) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if a.removed {
		return false
	}
	a.cancel = cancel
	return true
}

// run runs the loop of an accessor, after its predecessor of the same name has ended.
func (f *Fleet) run(ctx context.Context, a *accessor, aware multicluster.Aware) {
	defer f.retire(a)
	if a.after != nil {
		<-a.after // Ends soon: its context is cancelled.
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

func (f *Fleet) fieldIndexes() []connect.Index {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.Clone(f.indexes)
}
