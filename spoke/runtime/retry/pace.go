package retry

import (
	"time"

	"golang.org/x/time/rate"
)

const (
	// ProgressPeriod is the period in which a status that only reports progress is written once.
	ProgressPeriod = 5 * time.Second
	// progressAtOnce is the number of such statuses that are written in one period. While more objects make progress, each
	// status is written at least once in busyPeriods periods.
	progressAtOnce = 5
	busyPeriods    = 6
)

// UntilNext returns how long a write waits so that there is one in a period; 0 if it is made now. A last write that is zero
// says nothing, nor does one in the future: a process whose clock was ahead made it.
func UntilNext(now, last time.Time, period time.Duration) time.Duration {
	passed := now.Sub(last)
	if last.IsZero() || passed < 0 {
		return 0
	}
	return max(period-passed, 0)
}

// Progress paces the writes of statuses that only report progress: while many objects make progress at once the writes
// would take the time of the API server away from what they report. It is safe for concurrent use.
type Progress struct {
	period time.Duration
	all    *rate.Limiter
}

// NewProgress returns a Progress that writes the status of an object once in a period, while few objects make progress.
func NewProgress(period time.Duration) *Progress {
	return &Progress{period: period, all: rate.NewLimiter(rate.Every(period/progressAtOnce), progressAtOnce)}
}

// UntilAwaited returns how long the status of an object waits if other work begins when it is stored: it is written once in a
// period, however many objects make progress.
func (p *Progress) UntilAwaited(now, last time.Time) time.Duration {
	return UntilNext(now, last, p.period)
}

// Until returns how long the status of an object waits that was written last at a time; 0 if it is written now. After another
// change of the object the caller calls it again, and the wait may be shorter.
func (p *Progress) Until(now, last time.Time) time.Duration {
	rest, longest := UntilNext(now, last, p.period), UntilNext(now, last, busyPeriods*p.period)
	switch {
	case longest == 0, rest == 0 && p.all.AllowN(now, 1):
		return 0
	case rest > 0 && p.all.TokensAt(now) >= 1:
		return rest
	default:
		return longest // A shorter wait would cost passes that write nothing, while there are too many.
	}
}
