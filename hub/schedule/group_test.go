package schedule

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestGroup(t *testing.T) {
	t.Parallel()
	now := utc(t, today)
	early, late := now.Add(time.Minute), now.Add(-time.Minute)
	// group makes the snapshots of the claims a, b and so on.
	group := func(progress ...Progress) []Snapshot {
		var out []Snapshot
		for i, p := range progress {
			out = append(out, Snapshot{Name: string(rune('a' + i)), Progress: p})
		}
		return out
	}
	const none, creating, cut, ready, failed = ProgressNone, ProgressCreating, ProgressCut, ProgressReady, ProgressFailed
	for name, tt := range map[string]struct {
		snapshots []Snapshot
		terms     Terms
		want      Outcome
	}{
		"no volume":            {nil, Terms{}, Outcome{State: StateFailed, Release: true, Message: "there is no volume to cut"}},
		"not begun":            {group(none, none), Terms{CutBy: early}, Outcome{State: StatePending}},
		"the first asked for":  {group(creating, none), Terms{CutBy: early}, Outcome{State: StateInProgress}},
		"the first cut":        {group(cut, none), Terms{CutBy: early}, Outcome{State: StateInProgress}},
		"one still to be cut":  {group(ready, creating), Terms{CutBy: early}, Outcome{State: StateInProgress}},
		"unknown is not ready": {group(ready, "Thawing"), Terms{CutBy: early}, Outcome{State: StateInProgress}},
		"all cut":              {group(cut, ready, cut), Terms{CutBy: early}, Outcome{State: StateCut, Release: true}},
		"cut, looked at late":  {group(cut, ready), Terms{CutBy: late, ReadyBy: early}, Outcome{State: StateCut, Release: true}},
		"all ready":            {group(ready, ready), Terms{CutBy: late, ReadyBy: late}, Outcome{State: StateCompleted, Release: true}},
		"no deadlines":         {group(creating), Terms{}, Outcome{State: StateInProgress}},
		"at the deadline":      {group(creating), Terms{CutBy: now}, Outcome{State: StateInProgress}},
		"one failed": {
			[]Snapshot{{Name: "c", Progress: none}, {Name: "b", Progress: failed, Message: "key is disabled"}, {Name: "a", Progress: creating}, {Name: "d", Progress: ready}},
			Terms{CutBy: early},
			Outcome{State: StateFailed, Release: true, Delete: []string{"a", "b", "d"}, Message: "the snapshot of b failed: key is disabled"},
		},
		"one failed without a word": {group(ready, failed), Terms{}, Outcome{State: StateFailed, Release: true, Delete: []string{"a", "b"}, Message: "the snapshot of b failed"}},
		"one was deleted":           {group(ProgressGone, ready), Terms{}, Outcome{State: StateFailed, Release: true, Delete: []string{"b"}, Message: "the snapshot of a is gone"}},
		"one is being deleted":      {group(ProgressDeleting, ready), Terms{}, Outcome{State: StateFailed, Release: true, Delete: []string{"b"}, Message: "the snapshot of a is being deleted"}},
		"all cleaned up":            {group(ProgressGone, ProgressGone), Terms{Failed: "the snapshot of b failed"}, Outcome{State: StateFailed, Release: true, Message: "the snapshot of b failed"}},
		"stuck":                     {group(cut, creating, none), Terms{CutBy: late}, Outcome{State: StateFailed, Release: true, Track: []string{"a", "b"}, Message: "not cut in time: b, c"}},
		"never asked for in time":   {group(none), Terms{CutBy: late}, Outcome{State: StateFailed, Release: true, Message: "not cut in time: a"}},
		"data does not arrive":      {group(cut, ready), Terms{CutBy: late, ReadyBy: late}, Outcome{State: StateFailed, Release: true, Track: []string{"a", "b"}, Message: "not ready in time: a"}},
		"ready, but given up":       {group(ready, ready), Terms{Failed: "not cut in time: b"}, Outcome{State: StateFailed, Release: true, Track: []string{"a", "b"}, Message: "not cut in time: b"}},
		"given up, then one failed": {group(ready, failed), Terms{Failed: "not cut in time: b"}, Outcome{State: StateFailed, Release: true, Delete: []string{"a", "b"}, Message: "not cut in time: b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.terms.Now = now
			if diff := cmp.Diff(tt.want, Group(tt.snapshots, tt.terms)); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

// step is what a snapshot does by the next minute.
func (s Snapshot) step(r *rand.Rand, o Outcome) Progress {
	next := map[Progress][]Progress{
		ProgressNone:     {ProgressNone, ProgressCreating, ProgressCreating},
		ProgressCreating: {ProgressCreating, ProgressCut, ProgressCut, ProgressReady},
		ProgressCut:      {ProgressCut, ProgressReady, ProgressReady},
		ProgressReady:    {ProgressReady},
		ProgressFailed:   {ProgressFailed},
		ProgressDeleting: {ProgressDeleting, ProgressGone},
		ProgressGone:     {ProgressGone},
	}
	switch {
	case slices.Contains(o.Delete, s.Name):
		return ProgressDeleting
	case o.State == StateFailed && s.Progress == ProgressNone:
		return ProgressNone // Nobody asks for it any more.
	case r.IntN(60) == 0 && s.Progress != ProgressNone && s.Progress != ProgressGone:
		return ProgressFailed
	default:
		return next[s.Progress][r.IntN(len(next[s.Progress]))]
	}
}

// TestGroupHoldsForRandomLives lets snapshots go their ways at random.
func TestGroupHoldsForRandomLives(t *testing.T) {
	t.Parallel()
	ends := map[State]int{}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 13))
		begin := utc(t, today)
		g := make([]Snapshot, 1+r.IntN(4))
		for i := range g {
			g[i].Name = string(rune('a' + i))
		}
		terms := Terms{CutBy: begin.Add(7 * time.Minute), ReadyBy: begin.Add(12 * time.Minute)}
		var before, got Outcome
		for minute := range 40 {
			terms.Now, terms.Failed = begin.Add(time.Duration(minute)*time.Minute), ""
			if before.State == StateFailed {
				terms.Failed = before.Message
			}
			got = Group(g, terms)
			shuffled := slices.Clone(g)
			r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			if diff := cmp.Diff(got, Group(shuffled, terms)); diff != "" {
				t.Fatalf("seed %d: another order decides otherwise:\n%s", seed, diff)
			}
			checkStep(t, seed, g, before, got)
			before = got
			for i, s := range g {
				g[i].Progress = s.step(r, got)
			}
		}
		if got.State != StateCompleted && got.State != StateFailed {
			t.Fatalf("seed %d: comes to no end: %+v", seed, got)
		}
		ends[got.State]++
	}
	if ends[StateCompleted] < 300 || ends[StateFailed] < 300 {
		t.Errorf("lives end too much alike: %v", ends)
	}
}

// checkStep checks what holds whatever happens.
func checkStep(t *testing.T, seed uint64, g []Snapshot, before, got Outcome) {
	t.Helper()
	all := func(progress ...Progress) bool {
		return !slices.ContainsFunc(g, func(s Snapshot) bool { return !slices.Contains(progress, s.Progress) })
	}
	switch {
	case before.State == StateFailed && (got.State != StateFailed || got.Message != before.Message):
		t.Fatalf("seed %d: a failure is taken back: %+v after %+v", seed, got, before)
	case before.Release && !got.Release:
		t.Fatalf("seed %d: held again after it was released: %+v after %+v", seed, got, before)
	case got.State == StateCompleted && !all(ProgressReady):
		t.Fatalf("seed %d: %+v completed", seed, g)
	case got.State == StateCut && !all(ProgressCut, ProgressReady):
		t.Fatalf("seed %d: %+v cut", seed, g)
	case (got.State == StateFailed) != (got.Message != ""):
		t.Fatalf("seed %d: a failure without a word, or a word without a failure: %+v", seed, got)
	case got.State != StateFailed && len(got.Delete)+len(got.Track) > 0:
		t.Fatalf("seed %d: cleans up what did not fail: %+v", seed, got)
	}
	if got.State != StateFailed {
		return
	}
	for _, s := range g {
		deleted, tracked := slices.Contains(got.Delete, s.Name), slices.Contains(got.Track, s.Name)
		if nothing := s.Progress == ProgressNone || s.Progress == ProgressGone; nothing == (deleted || tracked) && s.Progress != ProgressDeleting || deleted && tracked {
			t.Fatalf("seed %d: %+v is deleted %t, tracked %t", seed, s, deleted, tracked)
		}
	}
}
