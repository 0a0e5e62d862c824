package members

import (
	"context"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/conditions"
)

// accessor is what the rest of the process shares with the goroutine of one member:
// what is wanted goes in, how it is comes out.
type accessor struct {
	name string
	// changed wakes the goroutine.
	changed chan struct{}
	// done is closed when the goroutine has ended, and nothing of it is left.
	done chan struct{}
	// after, if set, is the done of the accessor that had the name before.
	after <-chan struct{}

	// These two belong to Fleet.mu.
	removed bool
	cancel  context.CancelFunc

	mu      sync.Mutex
	target  Target
	state   State
	cluster cluster.Cluster
	mode    v1.Mode
}

func newAccessor(name string, target Target) *accessor {
	return &accessor{
		name:    name,
		changed: make(chan struct{}, 1),
		done:    make(chan struct{}),
		target:  target,
		state:   State{Conditions: conditions.NotObserved()},
	}
}

// signal has the goroutine look at what is wanted again.
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

// provide sets what Get and Mode return.
func (a *accessor) provide(c cluster.Cluster, mode v1.Mode) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cluster, a.mode = c, mode
}

func (a *accessor) engagedIn() v1.Mode {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mode
}

// report sets what State returns, and tells whether more than the time changed.
func (a *accessor) report(next State) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.state
	a.state = next
	return !last.equal(next)
}
