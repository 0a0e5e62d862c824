package schedule

import (
	"errors"
	"fmt"
	"time"
)

// horizonYears is how far ahead a scheduled time is looked for: a 29th of February is eight
// years away when the turn of a century is in between.
const horizonYears = 9

// ErrNever says that a schedule is never due, as on the 31st of February.
var ErrNever = errors.New("no day of any year matches")

// Schedule is when backups begin. The zero value has no scheduled times.
type Schedule struct {
	cronSpecs cronSpec
	zone      *time.Location
}

// Parse reads the five fields of cron (minute, hour, day, month, weekday; numbers
// only) and the IANA name of a time zone; no name is UTC. The error says what is
// wrong, and is ErrNever for what is well formed and never due.
func Parse(expression, timeZone string) (Schedule, error) {
	r, err := parseCronSpec(expression)
	if err != nil {
		return Schedule{}, fmt.Errorf("reading schedule %q: %w", expression, err)
	}
	if timeZone == "Local" {
		return Schedule{}, errors.New(`reading time zone "Local": it would depend on the machine`)
	}
	zone, err := time.LoadLocation(timeZone)
	if err != nil {
		return Schedule{}, fmt.Errorf("reading time zone %q: %w", timeZone, err)
	}
	return Schedule{cronSpecs: r, zone: zone}, nil
}

// Next returns the first scheduled time after a time, in UTC, on the minute. It is zero only
// for the zero Schedule.
func (s Schedule) Next(after time.Time) time.Time {
	from := after.UTC().Truncate(time.Minute).Add(time.Minute)
	horizon := from.AddDate(horizonYears, 0, 0)
	for s.zone != nil && from.Before(horizon) {
		p := periodOf(from.In(s.zone))
		until := horizon
		if !p.end.IsZero() && p.end.Before(horizon) {
			until = p.end
		}
		if scheduledTime, ok := s.within(p, from, until); ok {
			return scheduledTime
		}
		from = until
	}
	return time.Time{}
}

// within returns the first scheduled time at or after from and before until, all of which
// lie in one period. A reading that the clock skipped when the period began is
// taken at the time that it would have had with the offset before, and of one that
// it shows twice only the first counts. A schedule of every hour follows elapsed
// time instead: it neither misses nor repeats anything when the clock jumps.
func (s Schedule) within(p period, from, until time.Time) (time.Time, bool) {
	everyHour := s.cronSpecs.everyHour()
	first := from
	if again := p.start.Add(p.before - p.offset); !everyHour && p.before > p.offset && first.Before(again) {
		first = again
	}
	scheduledTime, found := s.cronSpecs.at(p.offset, first, until)
	if everyHour || p.before >= p.offset {
		return scheduledTime, found
	}
	if skipped := p.start.Add(p.offset - p.before); skipped.Before(until) {
		until = skipped
	}
	if late, ok := s.cronSpecs.at(p.before, from, until); ok && (!found || late.Before(scheduledTime)) {
		return late, true
	}
	return scheduledTime, found
}

// at is next for times, with the clock at an offset from UTC.
func (r cronSpec) at(offset time.Duration, from, until time.Time) (time.Time, bool) {
	reading, ok := r.next(from.Add(offset), until.Add(offset))
	return reading.Add(-offset), ok
}

// period is a time between two changes of the clock.
type period struct {
	// start is when it began, and end when it ends; zero: it always has, it never does.
	start, end time.Time
	// offset is how far the clock is ahead of UTC, and before how far it was until start.
	offset, before time.Duration
}

// periodOf returns the period of a time at its location. Offsets are taken in whole
// minutes; the last one that was not ended in 1972.
func periodOf(t time.Time) period {
	start, end := t.ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		// On the last day of leap years from 2040 on, ZoneBounds ends on the day
		// before: golang/go#81583. Nothing is changed on that day.
		end = end.AddDate(0, 0, 1)
	}
	p := period{start: start.UTC(), end: end.UTC(), offset: offsetOf(t)}
	p.before = p.offset
	if !start.IsZero() {
		p.before = offsetOf(start.Add(-time.Second))
	}
	return p
}

func offsetOf(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return (time.Duration(seconds) * time.Second).Truncate(time.Minute)
}
