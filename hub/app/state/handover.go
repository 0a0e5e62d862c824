package state

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// HandOver replaces the Decision about an application, and returns the members whose queues are to look at it:
// those that have not acted on their order and are not about to, those that know of a copy without an order, and
// those that wait for this pass. It compares with the results of the queues, so a queue that never got an order, because
// its member was not connected, gets it with the next pass.
//
// A result about another order no longer shows that a copy is gone or was applied.
func (s *State) HandOver(next *Decision) []string {
	key := client.ObjectKeyFromObject(next.App)
	next = next.detached(s.deliveredAs(key)) // All applications would wait for the copy.
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.of(key)
	former := a.decision
	a.decision = next
	if isFollowed := former.IsOf(next.App.UID) && former.Ahead; next.Ahead && !isFollowed {
		a.handedOver = s.clock.Now()
	}
	var concerned []string
	for m := range s.involved(key, next) {
		c, order := m.copies[key], next.Order(m.name)
		if a.waiting[m.name] || c.isBehind(order) {
			concerned = append(concerned, m.name)
		}
		if c == nil {
			continue
		}
		c.lookup = lookup{} // The inventory is known: if it is lost again, that begins with new ones.
		if c.result != nil && order != nil && c.result.Hash != order.Hash {
			c.result = c.result.outdated()
		}
		m.dropEmpty(key)
	}
	a.waiting = nil
	s.index(key, former)
	return concerned
}

// involved returns the connections to the members that a Decision orders something of or whose queues wait for it, and
// those that know of a copy. The lock is held.
func (s *State) involved(key types.NamespacedName, next *Decision) map[*Member]struct{} {
	all := map[*Member]struct{}{}
	maps.Copy(all, s.holders[key])
	for name := range next.Orders {
		maps.Copy(all, s.members[name])
	}
	for name := range s.about(key).waiting {
		maps.Copy(all, s.members[name])
	}
	return all
}

// Decision returns the last Decision about an application, or nil.
func (s *State) Decision(key types.NamespacedName) *Decision {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.about(key).decision
}

// ForgetDecision forgets the Decision about an application whose inventory was lost: until the next one its queues do
// nothing but look for copies.
func (s *State) ForgetDecision(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.apps[key]; a != nil {
		former := a.decision
		a.decision = nil
		s.index(key, former)
	}
}

// Await records that the queue of a member waits for the next pass over an application, or no longer does.
func (s *State) Await(key types.NamespacedName, member string, waits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.of(key)
	if waits {
		a.await(member)
	} else {
		delete(a.waiting, member)
	}
	s.index(key, a.decision)
}

// AwaitFirst records that the queue of a member waits for the first Decision about an application that it has read since
// so many were forgotten, and reports whether it is to look again at once: if there is a Decision by now, or if one of
// those that were forgotten since may be this one, no pass may follow.
func (s *State) AwaitFirst(key types.NamespacedName, member string, forgotten int) (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if again = s.about(key).decision != nil || s.forgotten != forgotten; !again {
		s.of(key).await(member)
		s.index(key, nil)
	}
	return again
}

// Forgotten returns how many applications were forgotten.
func (s *State) Forgotten() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.forgotten
}

func (a *application) await(member string) {
	if a.waiting == nil {
		a.waiting = map[string]bool{}
	}
	a.waiting[member] = true
}

// Concerned returns the applications that a member has an order about: those first of which it has missed something.
// Open are the others that a change of any member may decide: they are not decided, or a queue waits for others.
func (s *State) Concerned(member string) (pending, others, open []types.NamespacedName) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for key := range s.ordered[member] {
		if s.about(key).decision.IsPending(member) {
			pending = append(pending, key)
		} else {
			others = append(others, key)
		}
	}
	for key := range s.open {
		if _, ordered := s.ordered[member][key]; !ordered {
			open = append(open, key)
		}
	}
	slices.SortFunc(pending, compare)
	slices.SortFunc(others, compare)
	return pending, others, open
}

// deliveredAs returns an application as the watch delivered it last; nil if it did not.
func (s *State) deliveredAs(key types.NamespacedName) *v1.EcommerceApp {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.about(key).delivered
}

// detached returns a Decision that shares nothing with what its maker goes on to change. The memory of one spec is
// enough if the watch has delivered the same.
func (d *Decision) detached(delivered *v1.EcommerceApp) *Decision {
	out, app := *d, &v1.EcommerceApp{TypeMeta: d.App.TypeMeta}
	app.ObjectMeta = *d.App.ObjectMeta.DeepCopy()
	app.ManagedFields = nil
	if delivered != nil && delivered.UID == app.UID && equality.Semantic.DeepEqual(delivered.Spec, d.App.Spec) {
		app.Spec = delivered.Spec
	} else {
		d.App.Spec.DeepCopyInto(&app.Spec)
	}
	out.App = app
	return &out
}

func compare(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
