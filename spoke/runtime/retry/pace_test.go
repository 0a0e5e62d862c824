package retry

import (
	"testing"
	"time"
)

// TestUntilNext checks that there is one write in a period, whatever a clock that was ahead says.
func TestUntilNext(t *testing.T) {
	t.Parallel()
	last := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		last         time.Time
		passed, want time.Duration
	}{
		"the first":             {time.Time{}, 0, 0},
		"at once":               {last, 0, 5 * time.Second},
		"later":                 {last, 2 * time.Second, 3 * time.Second},
		"when the period is up": {last, 5 * time.Second, 0},
		"long after":            {last, time.Hour, 0},
		"a second ahead":        {last, -time.Second, 0},
		"ten minutes ahead":     {last, -10 * time.Minute, 0},
	} {
		if got := UntilNext(last.Add(tt.passed), tt.last, 5*time.Second); got != tt.want {
			t.Errorf("%s: waits for %s, want %s", name, got, tt.want)
		}
	}
}

// TestProgress counts the statuses that are written in a minute in which some objects make progress each second.
func TestProgress(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		objects int
		// want is the number of writes of all in a minute, and longest the longest time between two of one object.
		want    int
		longest time.Duration
	}{
		"none":       {0, 0, 0},
		"one":        {1, 12, 5 * time.Second},
		"five":       {5, 60, 5 * time.Second},
		"fifty":      {50, 146, 30 * time.Second},
		"a thousand": {1000, 2046, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, last := NewProgress(5*time.Second), make([]time.Time, tt.objects)
			for i := range last {
				last[i] = start
			}
			writes, longest := 0, time.Duration(0)
			for second := range 60 {
				now := start.Add(time.Duration(second+1) * time.Second)
				for i := range last {
					if p.Until(now, last[i]) == 0 {
						longest = max(longest, now.Sub(last[i]))
						last[i] = now
						writes++
					}
				}
			}
			if writes != tt.want || longest != tt.longest {
				t.Errorf("%d writes, and up to %s between two, want %d and %s", writes, longest, tt.want, tt.longest)
			}
		})
	}
}

// TestProgressWaits checks how long the status of an object waits: for the rest of its period while few objects make
// progress, and for the rest of six periods while many do.
func TestProgressWaits(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	p := NewProgress(5 * time.Second)
	for i := range progressAtOnce {
		if rest := p.Until(now, now.Add(-2*time.Second)); rest != 3*time.Second {
			t.Errorf("after %d writes of others it waits for %s", i, rest)
		}
		if rest := p.Until(now, now.Add(-10*time.Second)); rest != 0 {
			t.Errorf("write %d waits for %s", i, rest)
		}
	}
	for passed, want := range map[time.Duration]time.Duration{2 * time.Second: 28 * time.Second, 10 * time.Second: 20 * time.Second, time.Minute: 0} {
		if rest := p.Until(now, now.Add(-passed)); rest != want {
			t.Errorf("%s after its last write, with many of others, it waits for %s, want %s", passed, rest, want)
		}
	}
	if rest := p.Until(now.Add(time.Second), now.Add(-10*time.Second)); rest != 0 {
		t.Errorf("a second later it waits for %s", rest)
	}
}

// TestProgressAfterRestart checks that a status is written at once if the time of its last write is zero, in the future or
// long ago, however many others are written.
func TestProgressAfterRestart(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	for _, last := range []time.Time{{}, now.Add(time.Minute), now.Add(-time.Hour)} {
		p := NewProgress(time.Second)
		for i := range 2 * progressAtOnce {
			if rest := p.Until(now, last); rest != 0 {
				t.Errorf("write %d after one at %s waits for %s", i, last, rest)
			}
		}
	}
}
