package members

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDefaults pins the times that the hub runs with: suites run with shorter ones.
func TestDefaults(t *testing.T) {
	t.Parallel()
	f := New(Options{})
	for name, tt := range map[string]struct{ got, want any }{
		"timeouts": {f.settings.Timeouts, Timeouts{
			Dial: 5 * time.Second, Request: 10 * time.Second, Probe: 5 * time.Second, Watch: 75 * time.Second, Review: 30 * time.Second,
			Pods: time.Minute, Prepare: 30 * time.Second, Sync: 30 * time.Second, AgentTakeover: 8 * time.Second, AgentSilence: 40 * time.Second,
			Unwatched: 90 * time.Second,
		}},
		"limits":      {f.settings.Limits, Limits{Copies: 200, Children: 500, Reads: 500}},
		"periods":     {f.periods, Periods{Retry: 10 * time.Second, Inspect: 15 * time.Second, Renew: time.Minute, Pods: time.Minute}},
		"health":      {Health{}.withDefaults(), Health{Period: 5 * time.Second, FailureThreshold: 3, SuccessThreshold: 2}},
		"connects":    {[]int{connectsPerProcessor, minConnects}, []int{2, 4}},
		"first retry": {retryFirst, 500 * time.Millisecond},
		"recovery":    {recoveryPeriod, 500 * time.Millisecond},
		"spacing":     {[]time.Duration{connectSpacing, maxConnectSpread}, []time.Duration{10 * time.Millisecond, 5 * time.Second}},
		"inspection":  {inspectFactor * DefaultInspect, time.Minute},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
