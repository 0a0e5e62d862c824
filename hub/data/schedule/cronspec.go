package schedule

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// cronSpec is a parsed cron expression: one bit for each minute, hour, day of the month,
// month and weekday.
type cronSpec struct {
	minutes, hours, days, months, weekdays uint64
	// anyDay and anyWeekday are true if the field is a star. If neither is, one of the two
	// fields must match, otherwise both, as in cron.
	anyDay, anyWeekday bool
}

// starBit is the bit that package cron sets for a field that is a star.
const starBit = 1 << 63

// parseCronSpec parses the five fields as Kubernetes does, but accepts numbers only: no
// names, macros, time zones, question marks or seconds.
func parseCronSpec(expression string) (cronSpec, error) {
	if strings.Trim(expression, "0123456789*,-/ \t") != "" {
		return cronSpec{}, errors.New("only numbers and * , - / are known")
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(expression)
	if err != nil {
		return cronSpec{}, err
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return cronSpec{}, fmt.Errorf("%T has no fields", parsed)
	}
	r := cronSpec{
		minutes: spec.Minute &^ starBit, hours: spec.Hour &^ starBit, days: spec.Dom &^ starBit,
		months: spec.Month &^ starBit, weekdays: spec.Dow &^ starBit,
		anyDay: spec.Dom&starBit != 0, anyWeekday: spec.Dow&starBit != 0,
	}
	if r.never() {
		return cronSpec{}, ErrNever
	}
	return r, nil
}

// never reports whether no day of any year matches, as with the 31st of February. The
// weekday alone excludes no day: every month has every weekday.
func (c cronSpec) never() bool {
	if !c.anyDay && !c.anyWeekday {
		return false
	}
	first := bits.TrailingZeros64(c.days)
	for month := time.January; month <= time.December; month++ {
		// The year 2000 was a leap year. Day 0 of a month is the last day of the previous one.
		longest := time.Date(2000, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
		if c.months>>month&1 == 1 && first <= longest {
			return false
		}
	}
	return true
}

// everyHour reports whether the schedule includes all 24 hours.
func (c cronSpec) everyHour() bool { return c.hours == 1<<24-1 }

// everyDay reports whether the schedule includes all days of a year.
func (c cronSpec) everyDay() bool {
	const days, months, weekdays = 1<<32 - 2, 1<<13 - 2, 1<<7 - 1 // Of 1 to 31, 1 to 12 and 0 to 6.
	return c.days == days && c.months == months && c.weekdays == weekdays
}

// next returns the first matching local time in [from, until). Local times are
// represented in UTC, whatever the zone; from must be a whole minute.
func (c cronSpec) next(from, until time.Time) (time.Time, bool) {
	minute := minuteOf(from)
	for day := midnight(from); day.Before(until); minute = 0 {
		if c.months>>day.Month()&1 == 0 {
			day = time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		}
		if c.onDay(day) {
			if m, ok := c.inDay(minute); ok {
				local := day.Add(time.Duration(m) * time.Minute)
				return local, local.Before(until)
			}
		}
		day = day.AddDate(0, 0, 1)
	}
	return time.Time{}, false
}

// onDay reports whether a day matches, provided that its month does.
func (c cronSpec) onDay(day time.Time) bool {
	inMonth, inWeek := c.days>>day.Day()&1 == 1, c.weekdays>>day.Weekday()&1 == 1
	if c.anyDay || c.anyWeekday {
		return inMonth && inWeek
	}
	return inMonth || inWeek
}

// inDay returns the first matching minute of a day, 0 to 1439, at or after the given one.
func (c cronSpec) inDay(minute int) (int, bool) {
	hour := minute / 60
	if hour > 23 {
		return 0, false
	}
	if rest := c.minutes >> (minute % 60) << (minute % 60); c.hours>>hour&1 == 1 && rest != 0 {
		return hour*60 + bits.TrailingZeros64(rest), true
	}
	later := c.hours >> (hour + 1) << (hour + 1)
	if later == 0 {
		return 0, false
	}
	return bits.TrailingZeros64(later)*60 + bits.TrailingZeros64(c.minutes), true
}

func minuteOf(local time.Time) int { return local.Hour()*60 + local.Minute() }

func midnight(local time.Time) time.Time {
	return time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
}
