package retry

import "time"

// ProgressPeriod is the period in which a status that only reports progress is written once: more writes would take the
// time of the API server away from what they report.
const ProgressPeriod = 5 * time.Second

// UntilNext returns how long a write waits so that there is one in a period; 0 if it is made now. A last write that is zero
// says nothing, nor does one in the future: a process whose clock was ahead made it.
func UntilNext(now, last time.Time, period time.Duration) time.Duration {
	passed := now.Sub(last)
	if last.IsZero() || passed < 0 {
		return 0
	}
	return max(period-passed, 0)
}
