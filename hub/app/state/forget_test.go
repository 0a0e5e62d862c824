package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestForget returns the queues that wait for a pass, and a worker that ends later leaves nothing.
func TestForget(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	m := s.Connect("a", false)
	s.HandOver(decision(map[string]string{"a": "1"}))
	m.Begin(key())
	s.Await(key(), "b", true)
	s.Await(key(), "a", true)
	if diff := cmp.Diff([]string{"a", "b"}, s.Forget(key())); diff != "" {
		t.Errorf("queues to wake (-want +got):\n%s", diff)
	}
	if waiting := s.Forget(key()); len(waiting) > 0 {
		t.Errorf("wakes %v again", waiting)
	}
	m.End(key(), &Result{App: "u-1", Hash: "1"})
	if _, known := m.Result(key(), "u-1"); known || len(m.copies)+len(s.apps)+len(s.holders) > 0 {
		t.Error("something is left")
	}
}

// TestAwaitFirst checks that a queue that found no Decision waits for the first one, unless that has come since or the
// application was forgotten.
func TestAwaitFirst(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	s.Connect("a", false)
	if s.AwaitFirst(key(), "a", s.Forgotten()) {
		t.Error("there is a Decision before the first one")
	}
	if diff := cmp.Diff([]string{"a"}, s.HandOver(decision(nil))); diff != "" {
		t.Errorf("queues that wait for the first Decision (-want +got):\n%s", diff)
	}
	if !s.AwaitFirst(key(), "a", s.Forgotten()) {
		t.Error("the Decision that has come since is not seen: the queue would wait for another pass")
	}
	if concerned := s.HandOver(decision(nil)); len(concerned) > 0 {
		t.Errorf("%v wait for a Decision that they have", concerned)
	}
	read := s.Forgotten()
	if s.Forget(key()); !s.AwaitFirst(key(), "a", read) || len(s.apps)+len(s.open) > 0 {
		t.Error("a queue waits for an application that was forgotten since it was read")
	}
}

// TestNothingIsLeft checks that nothing is left of a copy of which nothing is known any more.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	copied := &v1.EcommerceApp{}
	copied.Namespace, copied.Name, copied.UID, copied.ResourceVersion = "ns", "shop", "c-1", "5"
	for name, act := range map[string]func(*State, *Member){
		"a lookup that the inventory has ended": func(s *State, m *Member) { m.Ask(key(), "u-1"); s.HandOver(decision(nil)) },
		"the status of a copy that is gone":     func(_ *State, m *Member) { m.SetStatus(copied); m.DropStatus(key(), "c-1") },
		"the status of a copy that was written": func(_ *State, m *Member) {
			m.SetStatus(copied)
			next := copied.DeepCopy()
			next.ResourceVersion = "6"
			m.SeeStatus(next)
		},
	} {
		s := New(clock.RealClock{})
		m := s.Connect("a", false)
		if act(s, m); len(m.copies)+len(s.holders) > 0 {
			t.Errorf("%s: %d copies and %d holders are remembered", name, len(m.copies), len(s.holders))
		}
	}
}

// TestInvolved checks that handing over a Decision looks at the members that it is about, and not at the fleet.
func TestInvolved(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	members := map[string]*Member{}
	for _, name := range []string{"ordered", "waits", "knows", "closed", "other", "another"} {
		members[name] = s.Connect(name, false)
	}
	s.Await(key(), "waits", true)
	members["knows"].Ask(key(), "u-1")
	members["closed"].Ask(key(), "u-1")
	members["closed"].Close()
	former := s.Connect("ordered", false)
	got := s.involved(key(), decision(map[string]string{"ordered": "1", "closed": "1", "away": "1"}))
	for m, want := range map[*Member]bool{members["ordered"]: true, former: true, members["waits"]: true, members["knows"]: true} {
		if _, is := got[m]; is != want {
			t.Errorf("%s is involved: %t", m.name, is)
		}
	}
	if len(got) != 4 {
		t.Errorf("looks at %d connections, want 4", len(got))
	}
	for _, m := range members {
		m.Close()
	}
	former.Close()
	if len(s.members)+len(s.holders) > 0 {
		t.Errorf("remembers %d members and %d holders, of none", len(s.members), len(s.holders))
	}
}
