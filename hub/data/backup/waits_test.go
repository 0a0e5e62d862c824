package backup

import (
	"testing"
	"time"
)

// TestWaits pins the waits that the hub runs with: suites run with shorter ones.
func TestWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ got, want time.Duration }{
		"snapshot":              {snapshotTimeout, 6 * time.Hour},
		"completion":            {readyTimeout, 48 * time.Hour},
		"duplicates":            {duplicateWindow, 10 * time.Minute},
		"search for duplicates": {duplicateDelay, time.Minute},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", name, tt.got, tt.want)
		}
	}
}
