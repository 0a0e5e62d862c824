package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
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
	if _, known := m.Result(key(), "u-1"); known || len(m.copies)+len(s.apps) > 0 {
		t.Error("something is left")
	}
}
