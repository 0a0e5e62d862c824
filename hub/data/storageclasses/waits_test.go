package storageclasses

import (
	"testing"
	"time"
)

// TestWaits pins the waits that the hub runs with: suites run with shorter ones.
func TestWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ got, want time.Duration }{
		"resync": {defaultResync, time.Hour},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", name, tt.got, tt.want)
		}
	}
}
