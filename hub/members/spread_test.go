package members

import (
	"fmt"
	"testing"
	"time"
)

// TestFirstConnectsAreSpread registers fleets of several sizes.
func TestFirstConnectsAreSpread(t *testing.T) {
	t.Parallel()
	for members, limit := range map[int]time.Duration{1: 10 * time.Millisecond, 100: time.Second, 1000: 5 * time.Second} {
		t.Run(fmt.Sprint(members), func(t *testing.T) {
			t.Parallel()
			f := New(Options{})
			for i := range members {
				f.Set(fmt.Sprint(i), Target{})
			}
			least, most := limit, time.Duration(0)
			for range 1000 {
				delay := f.firstConnect()
				least, most = min(least, delay), max(most, delay)
			}
			if least < 0 || least > limit/10 || most > limit || most < limit*9/10 {
				t.Errorf("first attempts come after %v to %v, want 0 to %v", least, most, limit)
			}
		})
	}
}

// TestRetriesAreSpread loses members at the same time: their attempts to connect are spread over a
// fifth of the time since then, or more.
func TestRetriesAreSpread(t *testing.T) {
	t.Parallel()
	const members, attempts = 1000, 7
	f := New(Options{})
	earliest, latest := make([]time.Duration, attempts), make([]time.Duration, attempts)
	for range members {
		backoff, at := f.newBackoff(), time.Duration(0)
		for i := range attempts {
			at += backoff.Step()
			latest[i] = max(latest[i], at)
			if earliest[i] == 0 || at < earliest[i] {
				earliest[i] = at
			}
		}
	}
	for i, first := range earliest {
		if spread := latest[i] - first; spread < first/5 {
			t.Errorf("attempt %d comes after %v to %v", i+1, first, latest[i])
		}
	}
}
