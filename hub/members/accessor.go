package members

import (
	"context"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/connect"
	"github.com/shopfleet/shopfleet/hub/members/health"
	"github.com/shopfleet/shopfleet/spoke/runtime/fencing"
)

// accessor holds what the fleet and the goroutine of one member share: the target, which
// the fleet writes, and the state, which the goroutine writes. It is safe for concurrent
// use, except for the fields that Fleet.mu guards.
type accessor struct {
	name string
	// changed wakes the goroutine.
	changed chan struct{}
	// done is closed when the goroutine, and everything that it started, has ended.
	done chan struct{}
	// pause blocks the writes of all connections, from the moment that the target says so.
	pause *fencing.Pause
	// after is the done channel of the previous accessor of that name; nil without one.
	after <-chan struct{}

	// Fleet.mu guards these two fields.
	removed bool
	cancel  context.CancelFunc

	mu      sync.Mutex
	target  Target
	state   State
	cluster cluster.Cluster
	mode    v1.Mode
	paused  bool
	renewed *Renewed // nil if there is nothing to store
	record  *Record
}

func newAccessor(name string, target Target) *accessor {
	a := &accessor{
		name:    name,
		changed: make(chan struct{}, 1),
		done:    make(chan struct{}),
		pause:   &fencing.Pause{},
		target:  target,
		state:   State{Conditions: health.NotObserved()},
	}
	a.pause.Set(target.Paused)
	return a
}

// signal wakes the goroutine, so that it reads the target again.
func (a *accessor) signal() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

func (a *accessor) retarget(target Target) {
	a.mu.Lock()
	same := a.target.equal(target)
	a.target = target
	a.pause.Set(target.Paused)
	a.mu.Unlock()
	if !same {
		a.signal()
	}
}

func (a *accessor) wanted() Target {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.target
}

func (a *accessor) current() State {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state
}

func (a *accessor) engaged() cluster.Cluster {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cluster
}

// provide sets what Get, Mode and Record return; nil if the member is not connected.
func (a *accessor) provide(c *connect.Connection) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cluster, a.mode, a.record, a.paused = nil, "", nil, false
	if c != nil {
		a.cluster, a.mode, a.record, a.paused = c.Cluster, c.Mode, c.Record, c.Paused
	}
}

func (a *accessor) recordOf() *Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.record
}

func (a *accessor) engagedIn() v1.Mode {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mode
}

// setState sets the state that State returns, and reports whether more than timestamps
// changed.
func (a *accessor) setState(next State) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.state
	a.state = next
	return !last.equal(next)
}
