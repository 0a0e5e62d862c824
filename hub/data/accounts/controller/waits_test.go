package controller

import (
	"testing"
	"time"
)

// TestWaits pins the waits that the hub runs with: suites run with shorter ones.
func TestWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ got, want time.Duration }{
		"verification": {verifyPeriod, time.Hour},
		"retry":        {retryPeriod, time.Minute},
		"a whole one":  {verifyTimeout, 2 * time.Minute},
		"identity":     {identityTimeout, 30 * time.Second},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", name, tt.got, tt.want)
		}
	}
}
