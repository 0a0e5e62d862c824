package connect

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// slotSilence is the time without a byte from a member after which it loses its slot, and
	// slotLimit the time after which it does so in any case.
	slotSilence = 2 * time.Second
	slotLimit   = 16 * time.Second
)

// Slots bound how many attempts to connect go on at a time after the member has answered a probe:
// they inspect it and fill its caches, which takes processor time of the hub. Others wait in the
// order in which they were answered. A slot is a turn and no permission: an attempt that waits for
// its member goes on without one, so that no member waits for a slow one. Slots are safe for
// concurrent use.
type Slots struct {
	taken chan struct{}
	clock clock.Clock
}

// NewSlots returns a number of slots.
func NewSlots(number int, now clock.Clock) *Slots {
	return &Slots{taken: make(chan struct{}, number), clock: now}
}

// take blocks until a slot is free, or returns the error of the context if that ends first. The slot
// is free again when release is called, when received, the number of bytes from the member, has
// not grown for slotSilence, or after slotLimit.
func (s *Slots) take(ctx context.Context, received func() int64) (release func(), err error) {
	select {
	case s.taken <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	released := make(chan struct{})
	release = sync.OnceFunc(func() {
		close(released)
		<-s.taken
	})
	timer, last := s.clock.NewTimer(slotSilence), received()
	go func() {
		defer timer.Stop()
		for held := slotSilence; ; held += slotSilence {
			select {
			case <-released:
				return
			case <-timer.C():
			}
			now := received()
			if now == last || held >= slotLimit {
				release()
				return
			}
			last = now
			timer.Reset(slotSilence)
		}
	}()
	return release, nil
}
