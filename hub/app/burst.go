package app

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// burstSize is the number of applications whose urgent changes are written at once within
	// burstWindow. Those of others wait until its end, with what changes until then.
	burstSize   = 20
	burstWindow = time.Second
)

// burst decides when urgent changes of status are written: at once, unless many applications
// change together, as when a member is lost. It is safe for concurrent use.
type burst struct {
	mu sync.Mutex
	// end is that of the window, and known are the applications that changed in it.
	end   time.Time
	known map[types.NamespacedName]bool
	// due is when the changes that wait are written, by application.
	due map[types.NamespacedName]time.Time
}

func newBurst() *burst {
	return &burst{known: map[types.NamespacedName]bool{}, due: map[types.NamespacedName]time.Time{}}
}

// wait returns the time until an urgent change of an application is to be written; 0 if it is now.
// An application waits for one window at most, however often it changes.
func (b *burst) wait(app types.NamespacedName, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if due, waits := b.due[app]; waits {
		return max(due.Sub(now), 0)
	}
	if !now.Before(b.end) {
		b.end = now.Add(burstWindow)
		clear(b.known)
	}
	b.known[app] = true
	if len(b.known) <= burstSize {
		return 0
	}
	b.due[app] = b.end
	return b.end.Sub(now)
}

// hold returns the time until a change is to be written that waits for something; 0 if it is now. An
// application waits for one window at most.
func (b *burst) hold(app types.NamespacedName, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, waits := b.due[app]; !waits {
		b.due[app] = now.Add(burstWindow)
	}
	return max(b.due[app].Sub(now), 0)
}

// settle records that no change of an application waits: it was written, or is none any more.
func (b *burst) settle(app types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.due, app)
}
