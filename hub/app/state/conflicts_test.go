package state

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestConflictsAreCounted checks that conflicts in a row are counted, of an application and of a copy apart, until an
// attempt ends without one or the application is gone.
func TestConflictsAreCounted(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	m := s.Connect("a", false)
	other := types.NamespacedName{Namespace: "ns", Name: "other"}
	for name, count := range map[string]func(types.NamespacedName, bool) int{"application": s.CountConflict, "copy": m.CountConflict} {
		for i, step := range []struct {
			key      types.NamespacedName
			conflict bool
			want     int
		}{{key(), true, 1}, {key(), true, 2}, {other, true, 1}, {other, false, 0}, {key(), true, 3}, {key(), false, 0}, {key(), true, 1}} {
			if got := count(step.key, step.conflict); got != step.want {
				t.Errorf("%s, step %d: %d conflicts in a row, want %d", name, i, got, step.want)
			}
		}
	}
	s.Forget(key())
	if a, c := s.CountConflict(key(), true), m.CountConflict(key(), true); a != 1 || c != 1 {
		t.Errorf("forgotten, and still %d and %d conflicts", a, c)
	}
	m.CountConflict(key(), false)
	if len(m.copies) > 0 {
		t.Errorf("remembers %d copies of which nothing is known", len(m.copies))
	}
}

// TestLeads begins with the first question, and lasts.
func TestLeads(t *testing.T) {
	t.Parallel()
	c := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	s := New(c)
	first := s.Leads()
	if c.SetTime(time.Unix(2000, 0)); !first.Equal(time.Unix(1000, 0)) || !s.Leads().Equal(first) {
		t.Errorf("leads since %s, and then since %s", first, s.Leads())
	}
}
