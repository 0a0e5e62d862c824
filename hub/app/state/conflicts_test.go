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

// TestConflictsFollow checks that conflicts of a copy in a row are counted, and that the count is no news.
func TestConflictsFollow(t *testing.T) {
	t.Parallel()
	last := Result{}
	for i, want := range []int{1, 2, 0, 1, 0} {
		next := Result{}
		next.CountConflict(last, want > 0)
		if next.Conflicts != want || last.differs(&next) {
			t.Errorf("step %d: %d conflicts, want %d", i, next.Conflicts, want)
		}
		last = next
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
