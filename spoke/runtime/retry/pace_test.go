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
