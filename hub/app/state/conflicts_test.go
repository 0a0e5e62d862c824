package state

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestConflictsAreCounted checks that conflicts in a row are counted, of each application apart, until a pass ends
// without one or the application is gone.
func TestConflictsAreCounted(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	other := types.NamespacedName{Namespace: "ns", Name: "other"}
	for i, step := range []struct {
		key      types.NamespacedName
		conflict bool
		want     int
	}{{key(), true, 1}, {key(), true, 2}, {other, true, 1}, {other, false, 0}, {key(), true, 3}, {key(), false, 0}, {key(), true, 1}} {
		if got := s.CountConflict(step.key, step.conflict); got != step.want {
			t.Errorf("step %d: %d conflicts in a row, want %d", i, got, step.want)
		}
	}
	s.Forget(key())
	if got := s.CountConflict(key(), true); got != 1 {
		t.Errorf("forgotten, and still %d conflicts", got)
	}
}

// TestConflictsOfACopy checks that conflicts in a row about a copy are counted, with an order and a result and without,
// that the count is no news, and that it ends with another outcome and with the application.
func TestConflictsOfACopy(t *testing.T) {
	t.Parallel()
	for name, ordered := range map[string]bool{"with a result": true, "without an order": false} {
		s := New(clock.RealClock{})
		m := s.Connect("a", false)
		other := types.NamespacedName{Namespace: "ns", Name: "other"}
		var result *Result
		if ordered {
			s.HandOver(decision(map[string]string{"a": "1"}))
			m.Begin(key())
			result = &Result{App: "u-1", Hash: "1"}
			m.End(key(), result)
		}
		for i, step := range []struct {
			key      types.NamespacedName
			conflict bool
			want     int
		}{{key(), true, 1}, {key(), true, 2}, {other, true, 1}, {other, false, 0}, {key(), true, 3}, {key(), false, 0}, {key(), true, 1}} {
			if _, news := m.End(step.key, result); news && step.key == key() {
				t.Errorf("%s, step %d: the count is news", name, i)
			}
			if got := m.CountConflict(step.key, step.conflict); got != step.want {
				t.Errorf("%s, step %d: %d conflicts in a row, want %d", name, i, got, step.want)
			}
		}
		s.Forget(key())
		if got := m.CountConflict(key(), true); got != 1 {
			t.Errorf("%s: forgotten, and still %d conflicts", name, got)
		}
		m.End(key(), nil)
		if m.CountConflict(key(), false); len(m.copies)+len(s.holders) > 0 {
			t.Errorf("%s: something is remembered after the last conflict", name)
		}
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
