package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"sort"
	"time"
)

// MaxMissed is the highest number of missed scheduled times that is counted.
const MaxMissed = 1000

// MaxOffset is the maximum result of Window.
const MaxOffset = 5 * time.Minute

// Due describes what a schedule requires at a point in time.
type Due struct {
	// ScheduledTime is the scheduled time to run now; zero if there is none.
	ScheduledTime time.Time
	// Missed is the number of scheduled times between the last one and ScheduledTime,
	// which are not run. It is at most MaxMissed, which also stands for more.
	Missed int
	// Next is the following scheduled time, and NextAt when it is to run: an offset later.
	Next, NextAt time.Time
}

// Due returns what to run now. Last is the scheduled time that ran last, or the time at
// which the schedule took effect; offset is the delay of a run after its scheduled time,
// see Offset. However many scheduled times were missed, only the newest is due.
//
// A last in the future results from a wrong clock and counts as now: running a scheduled
// time twice is better than not running for years.
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

// newest returns the last scheduled time that is after one time and not after another. It
// searches for the last minute from which the next scheduled time is not too late, in
// logarithmic time.
func (s Schedule) newest(after, until time.Time) (time.Time, bool) {
	late := func(scheduledTime time.Time) bool { return scheduledTime.IsZero() || scheduledTime.After(until) }
	if late(s.Next(after)) {
		return time.Time{}, false
	}
	minute := func(i int) time.Time { return after.Add(time.Duration(i) * time.Minute) }
	n := sort.Search(int(until.Sub(after)/time.Minute)+1, func(i int) bool { return late(s.Next(minute(i))) })
	return s.Next(minute(n - 1)), true
}

// count returns the number of scheduled times between two times, both exclusive, at most
// MaxMissed.
func (s Schedule) count(after, before time.Time) int {
	n := 0
	for scheduledTime := s.Next(after); n < MaxMissed && scheduledTime.Before(before); scheduledTime = s.Next(scheduledTime) {
		n++
	}
	return n
}

// Offset returns the delay of a run after its scheduled time: at least 0 and less than
// the window, in whole seconds, deterministic for a key. It spreads applications that are
// due at the same minute over the window.
func Offset(key string, window time.Duration) time.Duration {
	seconds := int64(window / time.Second)
	if seconds <= 0 {
		return 0
	}
	sum := sha256.Sum256([]byte(key))
	return time.Duration(int64(binary.BigEndian.Uint32(sum[:4]))%seconds) * time.Second
}

// Window returns the time over which runs are spread for a given interval between
// scheduled times: a tenth of it, at most MaxOffset.
func Window(interval time.Duration) time.Duration { return min(interval/10, MaxOffset) }
