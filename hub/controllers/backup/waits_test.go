package backup

import (
	"testing"
	"time"
)

// TestWaits pins the waits that the hub runs with: suites run with shorter ones.
func TestWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ got, want time.Duration }{
		"snapshot":                {snapshotTimeout, 6 * time.Hour},
		"completion":              {readyTimeout, 48 * time.Hour},
		"hold":                    {holdLimit, 50 * time.Second},
		"release by the database": {selfReleaseTimeout, 58 * time.Second},
		"duplicates":              {duplicateWindow, 10 * time.Minute},
		"search for duplicates":   {duplicateDelay, time.Minute},
		"observation of a hold":   {holdPoll, 2 * time.Second},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", name, tt.got, tt.want)
		}
	}
}
