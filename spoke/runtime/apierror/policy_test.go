package apierror

import (
	"testing"
	"time"
)

// TestConflictDelay checks that the wait doubles with each conflict in a row, up to a bound.
func TestConflictDelay(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for inRow, want := range map[int]time.Duration{0: 200 * ms, 1: 200 * ms, 2: 400 * ms, 3: 800 * ms, 4: 1600 * ms, 5: 3200 * ms, 6: 5 * time.Second, 1000: 5 * time.Second} {
		if got := ConflictDelay(inRow); got != want {
			t.Errorf("after %d conflicts it waits %s, want %s", inRow, got, want)
		}
	}
}
