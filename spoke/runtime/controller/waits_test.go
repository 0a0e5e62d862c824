package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDefaults pins what the hub and the spoke run with: suites run with shorter waits.
func TestDefaults(t *testing.T) {
	t.Parallel()
	c := Controller{}
	c.applyDefaults()
	for name, tt := range map[string]struct{ got, want any }{
		"workers":     {c.Workers, 4},
		"first retry": {c.FirstRetry, time.Second},
		"last retry":  {c.LastRetry, 5 * time.Minute},
		"resync":      {c.Resync, 10 * time.Minute},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
