package retention

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRPO(t *testing.T) {
	t.Parallel()
	now := utc(t, "2026-11-21 12:00")
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for name, tt := range map[string]struct {
		lastSuccess, since time.Time
		want               Exposure
		atRisk             bool
	}{
		"recent":             {ago(10 * time.Hour), ago(1000 * time.Hour), Exposure{Age: 10 * time.Hour}, false},
		"at the bound":       {ago(26 * time.Hour), ago(1000 * time.Hour), Exposure{Age: 26 * time.Hour}, false},
		"too old":            {ago(27 * time.Hour), ago(1000 * time.Hour), Exposure{Age: 27 * time.Hour}, true},
		"never, new":         {time.Time{}, ago(time.Hour), Exposure{Age: time.Hour, Never: true}, false},
		"never, old":         {time.Time{}, ago(27 * time.Hour), Exposure{Age: 27 * time.Hour, Never: true}, true},
		"clocks differ":      {now.Add(time.Minute), ago(time.Hour), Exposure{}, false},
		"from the future":    {now.Add(time.Hour), ago(time.Hour), Exposure{Future: true}, true},
		"since never at all": {time.Time{}, time.Time{}, Exposure{Age: now.Sub(time.Time{}), Never: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := RPO(tt.lastSuccess, tt.since, now)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("exposure (-want +got):\n%s", diff)
			}
			if got.AtRisk(26*time.Hour) != tt.atRisk {
				t.Errorf("at risk %t, want %t", !tt.atRisk, tt.atRisk)
			}
			if got.AtRisk(0) {
				t.Error("at risk without a bound")
			}
		})
	}
}
