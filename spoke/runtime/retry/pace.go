package retry

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// paceWindow is the time in which objects that make progress count as doing it at once.
	paceWindow = 20 * time.Second
	// paceObjects is the number of objects that make progress at once at the usual period.
	paceObjects = 5
	// paceLongest is how many times as long as usual the period becomes.
	paceLongest = 6
)

// Pace decides how often mere progress of an object is written: the more objects make progress at once,
// the less often each of them. The writes would take the time of the API server away from what they
// tell of. The zero value is ready for use, and safe for concurrent use.
type Pace struct {
	mu sync.Mutex
	// end is the end of the window, in which some objects have made progress. Before is the number of those in
	// the window before.
	end    time.Time
	some   map[types.NamespacedName]struct{}
	before int
}

// Period records that an object has made progress, and returns the time between two writes of it: usual, or
// longer in proportion to the number of objects that make progress, up to six times.
func (p *Pace) Period(object types.NamespacedName, usual time.Duration, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !now.Before(p.end) {
		p.before = 0
		if now.Sub(p.end) < paceWindow {
			p.before = len(p.some)
		}
		p.end, p.some = now.Add(paceWindow), map[types.NamespacedName]struct{}{}
	}
	p.some[object] = struct{}{}
	stretched := usual * time.Duration(max(p.before, len(p.some))) / paceObjects
	return min(max(usual, stretched), usual*paceLongest)
}
