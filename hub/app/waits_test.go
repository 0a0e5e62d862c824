package app

import (
	"testing"
	"time"
)

// TestWaits pins the waits that the hub runs with: suites run with others.
func TestWaits(t *testing.T) {
	t.Parallel()
	options := New(nil, Options{}).options
	for name, tt := range map[string]struct{ got, want time.Duration }{
		"progress": {options.ProgressPeriod, 5 * time.Second},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", name, tt.got, tt.want)
		}
	}
}
