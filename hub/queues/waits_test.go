package queues

import (
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
			if got, most := tt.waits.Later(tt.of).RequeueAfter, tt.want+time.Duration(float64(tt.want)*jitterFactor); got < tt.want || got > most {
				t.Errorf("%s later is %s, want %s to %s", tt.of, got, tt.want, most)
			}
		})
	}
}
