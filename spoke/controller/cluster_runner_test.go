package controller

import (
	"testing"
	"time"
)

// TestDefaultWaits pins the waits that spokes run with: suites run with shorter ones.
func TestDefaultWaits(t *testing.T) {
	t.Parallel()
	o := Options{}.withDefaults()
	for name, tt := range map[string]struct{ got, want time.Duration }{
		"request": {o.Timeout, 10 * time.Second},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", name, tt.got, tt.want)
		}
	}
}
