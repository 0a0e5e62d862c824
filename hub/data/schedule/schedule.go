package schedule

import (
	"errors"
	"fmt"
	"time"
)

// horizonYears is how far ahead to search for a scheduled time: the next 29th of February
// may be eight years away, across the turn of a century.
const horizonYears = 9

// ErrNever is returned for a schedule that has no scheduled times, such as the 31st of
// February.
var ErrNever = errors.New("no day of any year matches")

// Schedule represents the times at which backups are due. It is immutable. The zero value
// has no scheduled times.
type Schedule struct {
	cronSpecs cronSpec
	zone      *time.Location
}

// Parse parses the five fields of a cron expression (minute, hour, day, month, weekday;
// numbers only) and the IANA name of a time zone; an empty name is UTC. It returns an
// error that wraps ErrNever if the expression is valid but matches no day.
func Parse(expression, timeZone string) (Schedule, error) {
	r, err := parseCronSpec(expression)
	if err != nil {
		return Schedule{}, fmt.Errorf("parsing schedule %q: %w", expression, err)
	}
	if timeZone == "Local" {
		return Schedule{}, errors.New(`parsing time zone "Local": it depends on the machine, use an IANA name`)
	}
	zone, err := time.LoadLocation(timeZone)
	if err != nil {
		return Schedule{}, fmt.Errorf("parsing time zone %q: %w", timeZone, err)
	}
	return Schedule{cronSpecs: r, zone: zone}, nil
}

// Next returns the first scheduled time after a time, in UTC, in whole minutes. It is
// zero only for the zero Schedule.
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

// within returns the first scheduled time in [from, until), which lies entirely in one
// period. A local time that was skipped when the period began is taken at the previous
// offset, and of a local time that occurs twice only the first occurrence counts. A
// schedule that includes all hours follows elapsed time instead: clock changes neither
// skip nor repeat a scheduled time.
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

// at returns the same as next, for absolute times and a clock at an offset from UTC.
func (c cronSpec) at(offset time.Duration, from, until time.Time) (time.Time, bool) {
	local, ok := c.next(from.Add(offset), until.Add(offset))
	return local.Add(-offset), ok
}

// period is a time between two clock changes.
type period struct {
	// start and end bound the period; zero if it is unbounded.
	start, end time.Time
	// offset is the offset from UTC, before the one that applied until start.
	offset, before time.Duration
}

// periodOf returns the period that contains a time at its location. Offsets are rounded
// to whole minutes; the last offset with seconds was in use until 1972.
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
