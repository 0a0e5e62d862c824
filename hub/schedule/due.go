package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"sort"
	"time"
)

// MaxMissed is up to where missed scheduled times are counted.
const MaxMissed = 1000

// MaxOffset is the most that Window returns.
const MaxOffset = 5 * time.Minute

// Due is what a schedule asks for at a time.
type Due struct {
	// Slot is the one to run now, and names what it makes; zero when there is none.
	ScheduledTime time.Time
	// Missed is how many scheduled times between the last one and Slot are never made up for.
	// 0 to MaxMissed, which also stands for more.
	Missed int
	// Next is the scheduled time after that, and NextAt when it is to run: an offset later.
	Next, NextAt time.Time
}

// Due returns what to run now. Last is the scheduled time that ran last, or the time at which
// the schedule began to hold; offset is how long after its scheduled time a run begins, see
// Offset. However many scheduled times were missed, only the newest is due.
//
// A last in the future comes from a clock that was wrong: it counts as now, since a
// schedule that waits for years is worse than a scheduled time that is asked for twice.
func (s Schedule) Due(last, now time.Time, offset time.Duration) Due {
	now = now.Add(-offset)
	if last.IsZero() || last.After(now.Add(offset)) {
		last = now
	}
	var due Due
	if scheduledTime, ok := s.newest(last, now); ok {
		due.ScheduledTime = scheduledTime
		due.Missed = s.count(last, scheduledTime)
	}
	if now.Before(last) {
		now = last
	}
	if due.Next = s.Next(now); !due.Next.IsZero() {
		due.NextAt = due.Next.Add(offset)
	}
	return due
}

// newest returns the last scheduled time after one time and not after another. It looks for
// the last minute from which the next scheduled time is not too late, in a number of steps
// that grows with the logarithm of the time between.
func (s Schedule) newest(after, until time.Time) (time.Time, bool) {
	late := func(scheduledTime time.Time) bool { return scheduledTime.IsZero() || scheduledTime.After(until) }
	if late(s.Next(after)) {
		return time.Time{}, false
	}
	minute := func(i int) time.Time { return after.Add(time.Duration(i) * time.Minute) }
	n := sort.Search(int(until.Sub(after)/time.Minute)+1, func(i int) bool { return late(s.Next(minute(i))) })
	return s.Next(minute(n - 1)), true
}

// count returns how many scheduled times lie between two times, both exclusive. 0 to MaxMissed.
func (s Schedule) count(after, before time.Time) int {
	n := 0
	for scheduledTime := s.Next(after); n < MaxMissed && scheduledTime.Before(before); scheduledTime = s.Next(scheduledTime) {
		n++
	}
	return n
}

// Offset returns how long after its scheduled time a run begins: 0 to less than the window,
// in whole seconds, always the same for the same key. So a hundred applications
// that are due at the same minute spread over the window.
func Offset(key string, window time.Duration) time.Duration {
	seconds := int64(window / time.Second)
	if seconds <= 0 {
		return 0
	}
	sum := sha256.Sum256([]byte(key))
	return time.Duration(int64(binary.BigEndian.Uint32(sum[:4]))%seconds) * time.Second
}

// Window returns how far runs are spread whose scheduled times are an interval apart: a tenth
// of it, at most MaxOffset.
func Window(interval time.Duration) time.Duration { return min(interval/10, MaxOffset) }
