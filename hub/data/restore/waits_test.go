package restore

import (
	"testing"
	"time"
)

// TestWaits pins the waits that the hub runs with: suites run with shorter ones.
func TestWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ got, want time.Duration }{
		"member":  {memberDelay, 2 * time.Second},
		"restore": {preparationLimit, 6 * time.Hour},
		"load":    {loadLimit, 24 * time.Hour},
		"start":   {startLimit, 15 * time.Minute},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", name, tt.got, tt.want)
		}
	}
}
