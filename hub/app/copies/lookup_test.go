package copies

import "testing"

func TestLookupsAreOfOneApplication(t *testing.T) {
	t.Parallel()
	l := newLookups()
	if l.asked(key(), "u-1") {
		t.Error("there is a lookup that nobody asked for")
	}
	if got := l.ask(key(), "u-1"); got != NotLooked || !l.asked(key(), "u-1") {
		t.Errorf("before any lookup: %d, asked: %t", got, l.asked(key(), "u-1"))
	}
	for i, step := range []struct {
		found Presence
		news  bool
	}{{Uncertain, true}, {Uncertain, false}, {Present, true}, {Absent, true}} {
		if news := l.end(key(), "u-1", step.found); news != step.news {
			t.Errorf("step %d: news %t, want %t", i, news, step.news)
		}
	}
	if got := l.ask(key(), "u-1"); got != Absent {
		t.Errorf("the last lookup found %d, want %d", got, Absent)
	}
	if l.asked(key(), "u-2") {
		t.Error("a lookup of another application of the name counts")
	}
	l.drop(key())
	if l.asked(key(), "u-1") {
		t.Error("dropped, and still asked for")
	}
	l.ask(key(), "u-1")
	if l.drop(key()); !l.asked(key(), "u-1") {
		t.Error("a lookup that is to be made was dropped")
	}
	l.forget(key())
	if l.asked(key(), "u-1") {
		t.Error("forgotten, and still asked for")
	}
	if got := l.ask(key(), "u-2"); got != NotLooked {
		t.Errorf("a lookup of another application of the name found %d", got)
	}
}
