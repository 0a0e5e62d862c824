package state

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// Member remembers the copies in a member while one connection to it lasts. It shares the lock of its
// State and is safe for concurrent use.
type Member struct {
	state *State
	name  string
	// paused means that nothing is written in the member.
	paused bool
	// closed means that the connection has ended: a Decision that is handed over later is not for it.
	closed bool
	// copies are by application.
	copies map[types.NamespacedName]*copied
}

// copied remembers one copy.
type copied struct {
	// acting is the hash of the order that a worker acts on; empty if none does.
	acting string
	result *Result
	// conflicts counts conflicts in a row, whether or not the attempts were about an order.
	conflicts apierror.InRow
	lookup    lookup
	observed  observed
	// beside are the objects that are propagated; nil if none were.
	beside *beside
}

// Result describes the last attempt of a queue to write or delete a copy, or of another one to write what is beside it.
type Result struct {
	// App is the UID of the application.
	App types.UID
	// Hash identifies the order that the queue acted on; empty if another order followed.
	Hash string
	// Revision is the one that the copy was to have; 0 without a rollout.
	Revision int64
	// Failure is why the copy could not be written or deleted, or nil. Failing is since when the member's API
	// server fails on it; zero if it does not.
	Failure *aggregate.Failure
	Failing time.Time
	// Unknown is the origin that waits for the user; empty if none does.
	Unknown string
	// Pending are the writes that are held back.
	Pending []v1.PendingChange
	// Gone means that the copy was confirmed not to exist, Applied that it was to be written, and is.
	Gone, Applied bool
	// Owner is the copy that objects may be written beside; nil if none may.
	Owner *Owner
	// Kept names the generation that the copy counts for although an earlier one made it.
	Kept Kept
}

// Kept names a generation of an application whose copy is as an earlier one made it. It is zero if the copy was made
// from the present one.
type Kept struct {
	Generation, From int64
}

// isBehind reports whether a queue is to look at an order, nil if there is none: it has another result than one about
// that order, and no worker acts on it.
func (c *copied) isBehind(order *Order) bool {
	switch {
	case order == nil:
		return c != nil && c.result != nil
	case c == nil:
		return true
	default:
		return c.acting != order.Hash && (c.result == nil || c.result.Hash != order.Hash)
	}
}

// outdated returns a result after the order has changed: what failed is still to be seen.
func (r Result) outdated() *Result {
	r.Hash, r.Gone, r.Applied = "", false, false
	return &r
}

// Connect returns the memory of a new connection to a member. In one that is paused nothing is written.
func (s *State) Connect(member string, paused bool) *Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &Member{state: s, name: member, paused: paused, copies: map[types.NamespacedName]*copied{}}
	add(s.members, member, m)
	return m
}

// Close drops what is remembered when the connection has ended.
func (m *Member) Close() {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	remove(m.state.members, m.name, m)
	for key := range m.copies {
		remove(m.state.holders, key, m)
	}
	m.closed = true
}

// add adds a value to those of a key, and remove removes it.
func add[K, V comparable](all map[K]map[V]struct{}, key K, value V) {
	if all[key] == nil {
		all[key] = map[V]struct{}{}
	}
	all[key][value] = struct{}{}
}

func remove[K, V comparable](all map[K]map[V]struct{}, key K, value V) {
	if delete(all[key], value); len(all[key]) == 0 {
		delete(all, key)
	}
}

// Name returns the name of the member.
func (m *Member) Name() string { return m.name }

// of returns what is remembered of a copy, to be changed. The lock is held.
func (m *Member) of(key types.NamespacedName) *copied {
	if m.copies[key] == nil {
		m.copies[key] = &copied{}
		if !m.closed {
			add(m.state.holders, key, m)
		}
	}
	return m.copies[key]
}

// Begin returns the Decision that a worker is to act on, nil if there is none, and records that it does.
func (m *Member) Begin(key types.NamespacedName) *Decision {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	d := m.state.about(key).decision
	if order := d.Order(m.name); order != nil {
		m.of(key).acting = order.Hash
	}
	return d
}

// End records the result of a worker; nil if nothing is known. It returns the one before, nil if there was none, and
// whether there is news for the reconciler.
func (m *Member) End(key types.NamespacedName, next *Result) (last *Result, news bool) {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	c := m.of(key)
	last = c.result
	if m.state.apps[key] == nil {
		next = nil // A result about an application that is gone would stay: no pass reads or drops it.
	}
	c.acting, c.result = "", next
	if next != nil {
		// There may be another order since the worker began.
		if order := m.state.about(key).decision.Order(m.name); order == nil || order.Hash != next.Hash {
			c.result = next.outdated()
		}
	} else {
		m.dropEmpty(key)
		return last, last != nil
	}
	// An absence ends the entry, so that it is always news.
	return last, last == nil || next.Gone || last.differs(next)
}

// dropEmpty drops what is remembered of a copy if that is nothing. The lock is held.
func (m *Member) dropEmpty(key types.NamespacedName) {
	if *m.copies[key] == (copied{}) {
		delete(m.copies, key)
		remove(m.state.holders, key, m)
	}
}

// differs reports whether a result says something else than another.
func (r *Result) differs(other *Result) bool {
	return r.App != other.App || r.Hash != other.Hash || r.Gone != other.Gone || r.Applied != other.Applied ||
		r.Unknown != other.Unknown || r.Kept != other.Kept ||
		!equality.Semantic.DeepEqual(r.Failure, other.Failure) || !equality.Semantic.DeepEqual(r.Pending, other.Pending)
}

// Result returns the last result about an application, and whether there is one.
func (m *Member) Result(key types.NamespacedName, app types.UID) (Result, bool) {
	m.state.mu.RLock()
	defer m.state.mu.RUnlock()
	if c := m.copies[key]; c != nil && c.result != nil && c.result.App == app {
		return *c.result, true
	}
	return Result{}, false
}
