package connect

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// TestSlots holds the only slot in several ways and measures when the next one gets it.
func TestSlots(t *testing.T) {
	t.Parallel()
	const never = time.Hour
	for name, tt := range map[string]struct {
		// released is when the holder releases the slot, and silent when it receives no more.
		released, silent time.Duration
		want             time.Duration
	}{
		"released":             {time.Second, never, time.Second},
		"silent at once":       {never, 0, slotSilence},
		"silent after a while": {never, 5 * time.Second, 8 * time.Second},
		"never silent":         {never, never, slotLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := clock.RealClock{}.Now()
				elapsed := func() time.Duration { return (clock.RealClock{}).Since(began) }
				s := NewSlots(1, clock.RealClock{})
				first, err := s.take(t.Context(), func() int64 { return int64(min(elapsed(), tt.silent)) })
				if err != nil {
					t.Fatal(err)
				}
				timer := time.AfterFunc(tt.released, first)
				defer timer.Stop()
				second, err := s.take(t.Context(), func() int64 { return 0 })
				if err != nil || elapsed() != tt.want {
					t.Errorf("the slot is free after %s (error %v), want %s", elapsed(), err, tt.want)
				}
				first() // Once more: it must not free the slot of another.
				ctx, cancel := context.WithTimeout(t.Context(), slotSilence/2)
				defer cancel()
				if _, err := s.take(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a third one takes the slot of the second: %v", err)
				}
				second()
			})
		})
	}
}
