package state

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// StatusWritten records that the status of an application was written.
func (s *State) StatusWritten(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.of(key)
	a.statusAt, a.handedOver = s.clock.Now(), time.Time{}
}

// UntilStatus returns how long the status of an application waits so that it is written once in a period; 0 if it is
// written now. The time stored is that of the last write by an earlier process, and says nothing if its clock was ahead.
func (s *State) UntilStatus(key types.NamespacedName, stored time.Time, period time.Duration) time.Duration {
	s.mu.RLock()
	defer s.mu.RUnlock()
	last := s.about(key).statusAt
	if last.IsZero() {
		last = stored
	}
	if passed := s.clock.Since(last); passed >= 0 {
		return max(period-passed, 0)
	}
	return 0
}

// UntilResults returns how long the status of an application waits for the results of a Decision, counted from the
// first call: at most a limit.
func (s *State) UntilResults(key types.NamespacedName, limit time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.of(key)
	if a.handedOver.IsZero() {
		a.handedOver = s.clock.Now()
	}
	return max(limit-s.clock.Since(a.handedOver), 0)
}
