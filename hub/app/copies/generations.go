package copies

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// generations remember when the hub first saw the current generation of each application,
// to measure how long it takes to reach the members. They are safe for concurrent use.
type generations struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	known map[types.NamespacedName]firstSeen
}

type firstSeen struct {
	app        types.UID
	generation int64
	at         time.Time
	// settled means that the inventory changed after the placement of this generation had
	// been decided: copies that are created from then on follow from a change in the fleet,
	// not in the spec.
	settled bool
}

func newGenerations(c clock.PassiveClock) *generations {
	return &generations{clock: c, known: map[types.NamespacedName]firstSeen{}}
}

// see records an application that the watch delivered.
func (s *generations) see(before, app *v1.EcommerceApp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(app)
	last, known := s.known[key]
	if !known || last.app != app.UID || last.generation != app.Generation {
		s.known[key] = firstSeen{app: app.UID, generation: app.Generation, at: s.clock.Now()}
		return
	}
	if before != nil && before.Status.ObservedGeneration == app.Generation && !last.settled {
		last.settled = len(before.Status.Clusters) != len(app.Status.Clusters)
		s.known[key] = last
	}
}

// since returns how long ago the generation of an application was first seen, and whether
// that measures fan-out.
func (s *generations) since(app *v1.EcommerceApp) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.known[keyOf(app)]
	if !known || last.app != app.UID || last.generation != app.Generation || last.settled {
		return 0, false
	}
	return s.clock.Since(last.at), true
}

func (s *generations) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, key)
}
