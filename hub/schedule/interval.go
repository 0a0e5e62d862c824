package schedule

import (
	"math"
	"time"
)

// MinInterval returns the shortest time between two scheduled times in the year that begins
// at a time, or between the next two if there are fewer: what to compare with the
// shortest that a provider takes. It is 0 for the zero Schedule.
func (s Schedule) MinInterval(from time.Time) time.Duration {
	shortest, _ := s.intervals(from)
	return shortest
}

// DefaultMaxRPO returns how old the newest backup may be where the user does not
// say: one and a half of the longest time between two scheduled times in the year that begins
// at a time, so that one late run is no alarm and one missing run is. Changes of
// the clock do not count: a day is 24 hours. It is 0 for the zero Schedule.
func (s Schedule) DefaultMaxRPO(from time.Time) time.Duration {
	_, longest := Schedule{cronSpecs: s.cronSpecs, zone: time.UTC}.intervals(from)
	return longest + longest/2
}

// intervals returns the shortest and the longest time between two scheduled times. A day
// without a change of the clock is like any other, so that even a schedule of every
// minute takes a few steps a day.
func (s Schedule) intervals(from time.Time) (shortest, longest time.Duration) {
	scheduledTime := s.Next(from)
	if scheduledTime.IsZero() {
		return 0, 0
	}
	shortest = math.MaxInt64
	day := s.cronSpecs.day()
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

// beginsPlainDay tells whether a scheduled time is the first of its day and the clock is not
// changed before the day's last.
func (s Schedule) beginsPlainDay(scheduledTime time.Time, day dayOfTimes) bool {
	p := periodOf(scheduledTime.In(s.zone))
	reading := scheduledTime.Add(p.offset)
	return reading.Sub(midnight(reading)) == day.first &&
		(p.end.IsZero() || p.end.Sub(scheduledTime) > 24*time.Hour)
}

// dayOfTimes is what a day with scheduled times looks like while the clock is not changed.
type dayOfTimes struct {
	// first and last are how long after midnight the first and last scheduled time are.
	first, last time.Duration
	// shortest and longest are between two scheduled times of the day, if it has more than one.
	shortest, longest time.Duration
}

func (r cronSpec) day() dayOfTimes {
	var d dayOfTimes
	minute, _ := r.inDay(0)
	d.first = time.Duration(minute) * time.Minute
	d.last = d.first
	for {
		next, ok := r.inDay(minute + 1)
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
