package fake

import (
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/cloud"
)

func newCloud() (*Cloud, *testclock.FakeClock) {
	c := testclock.NewFakeClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))
	return NewCloud(c), c
}

func TestStates(t *testing.T) {
	t.Parallel()
	pace := Pace{Taken: 10 * time.Second, Ready: 100 * time.Second}
	tests := map[string]struct {
		failure  string
		stuck    bool
		age      time.Duration
		want     cloud.State
		progress int
	}{
		"at once":             {"", false, 0, cloud.StateCreating, 0},
		"not taken yet":       {"", false, 9 * time.Second, cloud.StateCreating, 0},
		"taken":               {"", false, 10 * time.Second, cloud.StateTaken, 10},
		"pending":             {"", false, 99 * time.Second, cloud.StateTaken, 99},
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
			fakeCloud, clock := newCloud()
			fakeCloud.SetPace(pace)
			if tt.failure != "" {
				fakeCloud.FailNext(tt.failure)
			}
			if tt.stuck {
				fakeCloud.StickNext()
			}
			fakeCloud.AddSnapshot(Snapshot{ID: "s"})
			fakeCloud.AddSnapshot(Snapshot{ID: "next"})
			clock.Step(tt.age)
			got, ok := fakeCloud.Snapshot("s")
			if !ok || got.State != tt.want || got.Progress != tt.progress {
				t.Errorf("state %q and progress %d, want %q and %d", got.State, got.Progress, tt.want, tt.progress)
			}
			if (got.State == cloud.StateFailed) != (got.Message != "") {
				t.Errorf("message %q in state %q", got.Message, got.State)
			}
			if next, _ := fakeCloud.Snapshot("next"); tt.age > pace.Ready && next.State != cloud.StateReady {
				t.Errorf("the one after it is %q; only one fails", next.State)
			}
		})
	}
}

func TestLag(t *testing.T) {
	t.Parallel()
	fakeCloud, clock := newCloud()
	fakeCloud.SetPace(Pace{Lag: 30 * time.Second})
	fakeCloud.AddSnapshot(Snapshot{ID: "s"})
	fakeCloud.AddVolume(Volume{ID: "v"})
	for age, want := range map[time.Duration]bool{0: false, 29 * time.Second: false, 30 * time.Second: true} {
		clock.SetTime(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC).Add(age))
		_, snapshot := fakeCloud.Snapshot("s")
		_, volume := fakeCloud.Volume("v")
		if listed := len(fakeCloud.Visible()) == 1; snapshot != want || volume != want || listed != want {
			t.Errorf("after %s: snapshot %t, volume %t, list %t; want %t", age, snapshot, volume, listed, want)
		}
		if len(fakeCloud.Snapshots()) != 1 || len(fakeCloud.Volumes()) != 1 {
			t.Errorf("after %s Snapshots and Volumes hide them too", age)
		}
	}
}

func TestUniqueNames(t *testing.T) {
	t.Parallel()
	fakeCloud, _ := newCloud()
	fakeCloud.SetPace(Pace{Lag: time.Hour})
	if _, added := fakeCloud.NewSnapshot(Snapshot{ID: "s", Source: "first"}); !added {
		t.Fatal("the first was not added")
	}
	if there, added := fakeCloud.NewSnapshot(Snapshot{ID: "s", Source: "second"}); added || there.Source != "first" {
		t.Errorf("added %t a duplicate, kept %q", added, there.Source)
	}
	first := fakeCloud.AddVolume(Volume{ID: "v"})
	if again := fakeCloud.AddVolume(Volume{ID: "v"}); again.UID == first.UID {
		t.Errorf("a replaced volume kept its UID %q", again.UID)
	}
}

func TestSourceOfCopyRemoved(t *testing.T) {
	t.Parallel()
	fakeCloud, clock := newCloud()
	fakeCloud.SetPace(Pace{Ready: time.Minute})
	fakeCloud.AddSnapshot(Snapshot{ID: "source"})
	fakeCloud.AddSnapshot(Snapshot{ID: "done", IsCopy: true, Source: "source"})
	clock.Step(time.Minute)
	fakeCloud.AddSnapshot(Snapshot{ID: "under way", IsCopy: true, Source: "source"})
	fakeCloud.AddSnapshot(Snapshot{ID: "no copy", Source: "source"})
	fakeCloud.RemoveSnapshot("source")
	clock.Step(time.Minute)
	for id, want := range map[string]cloud.State{"done": cloud.StateReady, "under way": cloud.StateFailed, "no copy": cloud.StateReady} {
		if got, _ := fakeCloud.Snapshot(id); got.State != want {
			t.Errorf("%s is %q, want %q", id, got.State, want)
		}
	}
}

func TestReturnedValuesAreCopies(t *testing.T) {
	t.Parallel()
	fakeCloud, _ := newCloud()
	tags := map[string]string{"k": "v"}
	fakeCloud.AddSnapshot(Snapshot{ID: "s", Tags: tags})
	fakeCloud.AddVolume(Volume{ID: "v", Tags: tags})
	tags["k"] = "changed outside"
	for _, s := range fakeCloud.Snapshots() {
		s.Tags["k"] = "changed outside"
	}
	for _, v := range fakeCloud.Volumes() {
		v.Tags["k"] = "changed outside"
	}
	s, _ := fakeCloud.Snapshot("s")
	v, _ := fakeCloud.Volume("v")
	if s.Tags["k"] != "v" || v.Tags["k"] != "v" {
		t.Errorf("tags %v and %v were changed from outside", s.Tags, v.Tags)
	}
	if !fakeCloud.EditSnapshot("s", func(s *Snapshot) { s.Tags["k"] = "edited" }) || fakeCloud.EditSnapshot("none", func(*Snapshot) {}) {
		t.Error("EditSnapshot did not report which snapshots exist")
	}
	if s, _ := fakeCloud.Snapshot("s"); s.Tags["k"] != "edited" {
		t.Errorf("tags %v after an edit", s.Tags)
	}
}
