package state

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/ownwrites"
)

// State remembers all that this process knows of applications. It is safe for concurrent use.
type State struct {
	clock clock.PassiveClock

	// mu guards all of it, also what Members remember, so that an order, its result and its end are seen together. It is
	// never held during a request.
	mu   sync.RWMutex
	apps map[types.NamespacedName]*application
	// members lists the connections by member: two while one replaces the other. Holders lists the connections that
	// remember something of an application, so that what is done for one application does not visit all members.
	members map[string]map[*Member]struct{}
	holders map[types.NamespacedName]map[*Member]struct{}
	// ordered lists the applications by the members that they have an order about, and open those that are not decided or
	// that a queue waits for, so that an event of a member does not visit all applications.
	ordered map[string]map[types.NamespacedName]struct{}
	open    map[types.NamespacedName]struct{}
	// forgotten counts the applications that were forgotten.
	forgotten int
	// leads is when this process began to decide about rollouts; zero before.
	leads time.Time
}

// application remembers one application.
type application struct {
	// delivered is the application as the watch delivered it last; nil if it did not.
	delivered *v1.EcommerceApp
	seen      firstSeen
	written   ownwrites.Write[*v1.EcommerceApp]
	decision  *Decision
	// waiting are the members whose queues wait for the next pass over the application.
	waiting map[string]bool
	backups *aggregate.BackupSummary
	// statusAt is when its status was written last; zero if it never was. HandedOver is when a Decision that is ahead of
	// the status was handed over first.
	statusAt, handedOver time.Time
	sources              Sources
	conflicts            apierror.InRow
	// revisions are those of the delivered application that were read, as JSON.
	revisions map[int64][]byte
}

// New returns a State that remembers nothing.
func New(c clock.PassiveClock) *State {
	return &State{
		clock: c, apps: map[types.NamespacedName]*application{},
		members: map[string]map[*Member]struct{}{}, holders: map[types.NamespacedName]map[*Member]struct{}{},
		ordered: map[string]map[types.NamespacedName]struct{}{}, open: map[types.NamespacedName]struct{}{},
	}
}

// of returns what is remembered of an application, to be changed. The lock is held.
func (s *State) of(key types.NamespacedName) *application {
	if s.apps[key] == nil {
		s.apps[key] = &application{}
	}
	return s.apps[key]
}

// about returns what is remembered of an application, not to be changed. The lock is held.
func (s *State) about(key types.NamespacedName) *application {
	if a := s.apps[key]; a != nil {
		return a
	}
	return &application{}
}

// Forget drops what is remembered of an application that is gone, and returns the members whose queues wait for a pass
// over it, which does not come.
func (s *State) Forget(key types.NamespacedName) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten++
	a := s.about(key)
	waiting := slices.Sorted(maps.Keys(a.waiting))
	delete(s.apps, key)
	s.index(key, a.decision)
	for m := range s.holders[key] {
		delete(m.copies, key)
	}
	delete(s.holders, key)
	return waiting
}

// Deliver records an application that the watch delivered, and that is shared with the cache. Before is nil for one
// that is new.
func (s *State) Deliver(before, app *v1.EcommerceApp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(app)
	a := s.of(key)
	if !a.exists(app.UID) {
		a.revisions = nil
	}
	a.delivered = app
	former := a.decision
	if !former.IsOf(app.UID) {
		a.decision = nil // It was about a former application of this name.
	}
	s.index(key, former)
	a.seen.see(before, app, s.clock.Now())
}

// Withdraw records that the watch has delivered the end of an application: Where no longer finds it.
func (s *State) Withdraw(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.apps[key]; a != nil {
		a.delivered, a.revisions = nil, nil
		s.index(key, a.decision)
	}
}

// index keeps ordered and open as an application is, which had another Decision before. The lock is held.
func (s *State) index(key types.NamespacedName, former *Decision) {
	a := s.about(key)
	if former != nil {
		for member := range former.Orders {
			if a.decision.Order(member) == nil {
				remove(s.ordered, member, key)
			}
		}
	}
	if a.decision != nil {
		for member := range a.decision.Orders {
			if former.Order(member) == nil {
				add(s.ordered, member, key)
			}
		}
	}
	if a.decision == nil && a.delivered != nil || len(a.waiting) > 0 {
		s.open[key] = struct{}{}
	} else {
		delete(s.open, key)
	}
}

// Where returns the applications, as they were delivered, that a condition holds for. It looks at each.
func (s *State) Where(holds func(*v1.EcommerceApp) bool) []types.NamespacedName {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var keys []types.NamespacedName
	for key, a := range s.apps {
		if a.delivered != nil && holds(a.delivered) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Leads returns when this process began to decide about rollouts: with the first call.
func (s *State) Leads() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leads.IsZero() {
		s.leads = s.clock.Now()
	}
	return s.leads
}

// firstSeen is when the hub first saw the present generation of an application, to measure how long it takes
// to reach the members.
type firstSeen struct {
	app        types.UID
	generation int64
	at         time.Time
	// settled means that the inventory changed after the placement of this generation had been decided:
	// copies that are created from then on follow from a change in the fleet, not in the spec.
	settled bool
}

func (f *firstSeen) see(before, app *v1.EcommerceApp, now time.Time) {
	if f.app != app.UID || f.generation != app.Generation {
		*f = firstSeen{app: app.UID, generation: app.Generation, at: now}
		return
	}
	if before != nil && before.Status.ObservedGeneration == app.Generation && !f.settled {
		f.settled = len(before.Status.Clusters) != len(app.Status.Clusters)
	}
}

// Since returns how long ago the generation of an application was first seen, and whether that measures fan-out.
func (s *State) Since(app *v1.EcommerceApp) (time.Duration, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	seen := s.about(client.ObjectKeyFromObject(app)).seen
	if seen.app != app.UID || seen.generation != app.Generation || seen.settled {
		return 0, false
	}
	return s.clock.Since(seen.at), true
}

// Written records that the hub wrote an application in place of a version.
func (s *State) Written(app *v1.EcommerceApp, replaced string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.of(client.ObjectKeyFromObject(app))
	a.written = a.written.Next(replaced, app)
}

// IsBehind reports whether an application in the cache is one that the hub has replaced: the watch is about to deliver
// what it wrote. Otherwise the writes are forgotten.
func (s *State) IsBehind(cached *v1.EcommerceApp) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.of(client.ObjectKeyFromObject(cached))
	_, ahead := a.written.Newest(cached)
	if !ahead {
		a.written = ownwrites.Write[*v1.EcommerceApp]{}
	}
	return ahead
}

// ReplaceBackups records what the backup scheduler says about an application, and returns what it said before; nil if
// it did not.
func (s *State) ReplaceBackups(key types.NamespacedName, next aggregate.BackupSummary) *aggregate.BackupSummary {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.of(key)
	last := a.backups
	a.backups = &next
	return last
}

// Backups returns what the backup scheduler last said about an application, or nil. It is not to be changed.
func (s *State) Backups(key types.NamespacedName, app types.UID) *aggregate.BackupSummary {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if found := s.about(key).backups; found != nil && found.App == app {
		return found
	}
	return nil
}
