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
