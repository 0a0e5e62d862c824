package retry

import (
	"slices"
	"testing"
	"time"
)

func TestWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		waits    Waits
		of, want time.Duration
	}{
		"the zero value changes nothing": {Waits{}, time.Hour, time.Hour},
		"scaled":                         {Waits{Scale: 0.1}, 5 * time.Second, 500 * time.Millisecond},
		"bounded":                        {Waits{Longest: time.Minute}, time.Hour, time.Minute},
		"scaled before it is bounded":    {Waits{Scale: 0.1, Longest: 2 * time.Second}, 15 * time.Second, 1500 * time.Millisecond},
		"no wait stays none":             {Waits{Scale: 0.1, Longest: time.Second}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.waits.Scaled(tt.of); got != tt.want {
				t.Errorf("%s scaled is %s, want %s", tt.of, got, tt.want)
			}
			var later []time.Duration
			for range draws {
				later = append(later, tt.waits.Later(tt.of).RequeueAfter)
			}
			wantJitter(t, tt.of.String()+" later", later, tt.want)
		})
	}
}

func TestSooner(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ a, b, want time.Duration }{
		"neither":           {0, 0, 0},
		"the first alone":   {time.Second, 0, time.Second},
		"the second alone":  {0, time.Second, time.Second},
		"the first":         {time.Second, time.Minute, time.Second},
		"the second":        {time.Minute, time.Second, time.Second},
		"the first is over": {-time.Second, time.Minute, time.Minute},
		"the other is over": {time.Minute, -time.Second, time.Minute},
		"both are over":     {-time.Minute, -time.Second, 0},
	} {
		if got := Sooner(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// draws is how often a wait with jitter is drawn. Even draws are less than half as far apart as
// they may be once in 10^13 runs.
const draws = 50

// wantJitter checks that draws of a wait are between least and three tenths more, and that they
// are at least half as far apart.
func wantJitter(t *testing.T, what string, drawn []time.Duration, least time.Duration) {
	t.Helper()
	lowest, highest, most := slices.Min(drawn), slices.Max(drawn), least*13/10
	if lowest < least || highest > most {
		t.Errorf("%s is %s to %s, want %s to %s", what, lowest, highest, least, most)
	}
	if highest-lowest < (most-least)/2 {
		t.Errorf("%s is %s to %s, want it spread over %s to %s", what, lowest, highest, least, most)
	}
}
