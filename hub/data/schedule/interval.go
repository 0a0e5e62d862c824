package schedule

import (
	"math"
	"time"
)

// MinInterval returns the shortest time between two scheduled times in the year that
// begins at from, or between the next two if there are fewer. It is 0 for the zero
// Schedule.
func (s Schedule) MinInterval(from time.Time) time.Duration {
	shortest, _ := s.intervals(from)
	return shortest
}

// DefaultMaxRPO returns the default age limit of the newest backup: one and a half times
// the longest time between two scheduled times in the year that begins at from, so that a
// late run raises no alert and a missing one does. Clock changes are ignored: a day has
// 24 hours. It is 0 for the zero Schedule.
func (s Schedule) DefaultMaxRPO(from time.Time) time.Duration {
	_, longest := Schedule{cronSpecs: s.cronSpecs, zone: time.UTC}.intervals(from)
	return longest + longest/2
}

// intervals returns the shortest and the longest time between two scheduled times. All
// days without a clock change are alike, so that even a schedule of every minute takes
// only a few steps per day, and one of every day, which most are, takes none in UTC.
func (s Schedule) intervals(from time.Time) (shortest, longest time.Duration) {
	scheduledTime := s.Next(from)
	if scheduledTime.IsZero() {
		return 0, 0
	}
	day := s.cronSpecs.day()
	if s.zone == time.UTC && s.cronSpecs.everyDay() {
		overnight := 24*time.Hour - (day.last - day.first)
		if day.last == day.first {
			return overnight, overnight
		}
		return min(day.shortest, overnight), max(day.longest, overnight)
	}
	shortest = math.MaxInt64
	for year := from.AddDate(1, 0, 0); longest == 0 || scheduledTime.Before(year); {
		if day.last > day.first && s.beginsPlainDay(scheduledTime, day) {
			shortest, longest = min(shortest, day.shortest), max(longest, day.longest)
			scheduledTime = scheduledTime.Add(day.last - day.first)
		}
		next := s.Next(scheduledTime)
		shortest, longest = min(shortest, next.Sub(scheduledTime)), max(longest, next.Sub(scheduledTime))
		scheduledTime = next
	}
	return shortest, longest
}

// beginsPlainDay reports whether a scheduled time is the first of its day and the clock
// does not change before the last one of that day.
func (s Schedule) beginsPlainDay(scheduledTime time.Time, day dayOfTimes) bool {
	p := periodOf(scheduledTime.In(s.zone))
	local := scheduledTime.Add(p.offset)
	return local.Sub(midnight(local)) == day.first &&
		(p.end.IsZero() || p.end.Sub(scheduledTime) > 24*time.Hour)
}

// dayOfTimes describes the scheduled times of a day without clock changes.
type dayOfTimes struct {
	// first and last are the offsets of the first and last scheduled time from midnight.
	first, last time.Duration
	// shortest and longest are the intervals within the day; zero with one scheduled time.
	shortest, longest time.Duration
}

func (c cronSpec) day() dayOfTimes {
	var d dayOfTimes
	minute, _ := c.inDay(0)
	d.first = time.Duration(minute) * time.Minute
	d.last = d.first
	for {
		next, ok := c.inDay(minute + 1)
		if !ok {
			return d
		}
		gap := time.Duration(next-minute) * time.Minute
		if d.last == d.first {
			d.shortest = gap
		}
		d.shortest, d.longest = min(d.shortest, gap), max(d.longest, gap)
		minute, d.last = next, time.Duration(next)*time.Minute
	}
}
