package fake

import (
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/cloud"
)

func newWorld() (*Cloud, *testclock.FakeClock) {
	c := testclock.NewFakeClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))
	return NewCloud(c), c
}

func TestStates(t *testing.T) {
	t.Parallel()
	pace := Pace{Taken: 10 * time.Second, Ready: 100 * time.Second}
	tests := map[string]struct {
		fate     string
		stuck    bool
		age      time.Duration
		want     cloud.State
		progress int
	}{
		"at once":             {"", false, 0, cloud.StateCreating, 0},
		"before the cut":      {"", false, 9 * time.Second, cloud.StateCreating, 0},
		"cut":                 {"", false, 10 * time.Second, cloud.StateTaken, 10},
		"on its way":          {"", false, 99 * time.Second, cloud.StateTaken, 99},
		"ready":               {"", false, 100 * time.Second, cloud.StateReady, 100},
		"will fail":           {"no key", false, 9 * time.Second, cloud.StateCreating, 0},
		"failed":              {"no key", false, 10 * time.Second, cloud.StateFailed, 0},
		"failed long ago":     {"no key", false, time.Hour, cloud.StateFailed, 0},
		"stuck":               {"", true, time.Hour, cloud.StateCreating, 0},
		"stuck, never failed": {"no key", true, time.Hour, cloud.StateCreating, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, c := newWorld()
			w.SetPace(pace)
			if tt.fate != "" {
				w.FailNext(tt.fate)
			}
			if tt.stuck {
				w.StickNext()
			}
			w.AddSnapshot(Snapshot{ID: "s"})
			w.AddSnapshot(Snapshot{ID: "next"})
			c.Step(tt.age)
			got, ok := w.Snapshot("s")
			if !ok || got.State != tt.want || got.Progress != tt.progress {
				t.Errorf("state %q and progress %d, want %q and %d", got.State, got.Progress, tt.want, tt.progress)
			}
			if (got.State == cloud.StateFailed) != (got.Message != "") {
				t.Errorf("message %q in state %q", got.Message, got.State)
			}
			if next, _ := w.Snapshot("next"); tt.age > pace.Ready && next.State != cloud.StateReady {
				t.Errorf("the one after it is %q; only one has a fate", next.State)
			}
		})
	}
}

func TestLag(t *testing.T) {
	t.Parallel()
	w, c := newWorld()
	w.SetPace(Pace{Lag: 30 * time.Second})
	w.AddSnapshot(Snapshot{ID: "s"})
	w.AddVolume(Volume{ID: "v"})
	for age, want := range map[time.Duration]bool{0: false, 29 * time.Second: false, 30 * time.Second: true} {
		c.SetTime(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC).Add(age))
		_, snapshot := w.Snapshot("s")
		_, volume := w.Volume("v")
		if listed := len(w.Visible()) == 1; snapshot != want || volume != want || listed != want {
			t.Errorf("after %s: snapshot %t, volume %t, list %t; want %t", age, snapshot, volume, listed, want)
		}
		if len(w.Snapshots()) != 1 || len(w.Volumes()) != 1 {
			t.Errorf("after %s the truth is hidden too", age)
		}
	}
}

func TestUniqueNames(t *testing.T) {
	t.Parallel()
	w, _ := newWorld()
	w.SetPace(Pace{Lag: time.Hour})
	if _, added := w.NewSnapshot(Snapshot{ID: "s", Source: "first"}); !added {
		t.Fatal("the first was not added")
	}
	if there, added := w.NewSnapshot(Snapshot{ID: "s", Source: "second"}); added || there.Source != "first" {
		t.Errorf("added %t over what is hidden, there is %q", added, there.Source)
	}
	first, _ := w.NewVolume(Volume{ID: "v"})
	if there, added := w.NewVolume(Volume{ID: "v"}); added || there.UID != first.UID {
		t.Errorf("added %t, UID %q, want %q", added, there.UID, first.UID)
	}
	if again := w.AddVolume(Volume{ID: "v"}); again.UID == first.UID {
		t.Errorf("a volume made anew has the UID %q of the one before", again.UID)
	}
}

func TestSourceOfCopyRemoved(t *testing.T) {
	t.Parallel()
	w, c := newWorld()
	w.SetPace(Pace{Ready: time.Minute})
	w.AddSnapshot(Snapshot{ID: "source"})
	w.AddSnapshot(Snapshot{ID: "done", IsCopy: true, Source: "source"})
	c.Step(time.Minute)
	w.AddSnapshot(Snapshot{ID: "under way", IsCopy: true, Source: "source"})
	w.AddSnapshot(Snapshot{ID: "no copy", Source: "source"})
	w.RemoveSnapshot("source")
	c.Step(time.Minute)
	for id, want := range map[string]cloud.State{"done": cloud.StateReady, "under way": cloud.StateFailed, "no copy": cloud.StateReady} {
		if got, _ := w.Snapshot(id); got.State != want {
			t.Errorf("%s is %q, want %q", id, got.State, want)
		}
	}
}

func TestNothingIsShared(t *testing.T) {
	t.Parallel()
	w, _ := newWorld()
	tags := map[string]string{"k": "v"}
	w.AddSnapshot(Snapshot{ID: "s", Tags: tags})
	w.AddVolume(Volume{ID: "v", Tags: tags})
	tags["k"] = "changed outside"
	for _, s := range w.Snapshots() {
		s.Tags["k"] = "changed outside"
	}
	for _, v := range w.Volumes() {
		v.Tags["k"] = "changed outside"
	}
	s, _ := w.Snapshot("s")
	v, _ := w.Volume("v")
	if s.Tags["k"] != "v" || v.Tags["k"] != "v" {
		t.Errorf("tags %v and %v were changed from outside", s.Tags, v.Tags)
	}
	if !w.EditSnapshot("s", func(s *Snapshot) { s.Tags["k"] = "edited" }) || w.EditSnapshot("none", func(*Snapshot) {}) {
		t.Error("what is there can be edited, and nothing else")
	}
	if s, _ := w.Snapshot("s"); s.Tags["k"] != "edited" {
		t.Errorf("tags %v after an edit", s.Tags)
	}
}
