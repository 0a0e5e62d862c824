package reconciler

import (
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// TestWaits pins the waits that the hub and the spoke run with: suites run with shorter ones.
func TestWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ got, want time.Duration }{
		"resync":                {resync, 10 * time.Minute},
		"progress":              {retry.ProgressPeriod, 5 * time.Second},
		"terminating namespace": {terminatingFor, 5 * time.Second},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", name, tt.got, tt.want)
		}
	}
}
