package dispatch

import "testing"

func TestLookupsAreOfOneApplication(t *testing.T) {
	t.Parallel()
	l := newLookups()
	if got := l.about(key(), "u-1"); got != NotLooked {
		t.Errorf("before any lookup: %d", got)
	}
	for i, step := range []struct {
		found Presence
		news  bool
	}{{Uncertain, true}, {Uncertain, false}, {Present, true}, {Absent, true}} {
		if news := l.end(key(), "u-1", step.found); news != step.news {
			t.Errorf("step %d: news %t, want %t", i, news, step.news)
		}
	}
	if got := l.about(key(), "u-1"); got != Absent {
		t.Errorf("the last lookup found %d, want %d", got, Absent)
	}
	if got := l.about(key(), "u-2"); got != NotLooked {
		t.Errorf("a lookup of another application of the name counts: %d", got)
	}
	l.forget(key())
	if got := l.about(key(), "u-1"); got != NotLooked {
		t.Errorf("forgotten, and still %d", got)
	}
}
