package schedule

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// readings are what a clock on the wall shows when a schedule is due: one bit for
// each minute, hour, day of the month, month and weekday.
type cronSpec struct {
	minutes, hours, days, months, weekdays uint64
	// anyDay and anyWeekday say that the field is a star. Where neither is, one of
	// the two has to match, otherwise both: so cron has it.
	anyDay, anyWeekday bool
}

// field is one of the five fields.
type field struct {
	name     string
	min, max int
}

// parseCronSpec reads the five fields of cron as Kubernetes does, in numbers alone:
// neither names nor macros, and no seconds.
func parseCronSpec(expression string) (cronSpec, error) {
	texts := strings.Fields(expression)
	fields := []field{
		{"minute", 0, 59}, {"hour", 0, 23}, {"day of the month", 1, 31}, {"month", 1, 12}, {"day of the week", 0, 6},
	}
	if len(texts) != len(fields) {
		return cronSpec{}, fmt.Errorf("%d fields instead of %d", len(texts), len(fields))
	}
	var (
		masks [5]uint64
		stars [5]bool
	)
	for i, f := range fields {
		var err error
		if masks[i], stars[i], err = f.parse(texts[i]); err != nil {
			return cronSpec{}, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	r := cronSpec{
		minutes: masks[0], hours: masks[1], days: masks[2], months: masks[3], weekdays: masks[4],
		anyDay: stars[2], anyWeekday: stars[4],
	}
	if r.never() {
		return cronSpec{}, ErrNever
	}
	return r, nil
}

// parse reads a list such as 1-5,10-50/10. A star is one only where it takes all:
// of */2 only the numbers count.
func (f field) parse(text string) (mask uint64, star bool, err error) {
	for item := range strings.SplitSeq(text, ",") {
		span, stepText, stepped := strings.Cut(item, "/")
		step := 1
		if stepped {
			if step, err = number(stepText); err != nil {
				return 0, false, err
			}
			if step == 0 {
				return 0, false, fmt.Errorf("the step in %q is 0", item)
			}
		}
		low, high, err := f.span(span, stepped)
		if err != nil {
			return 0, false, err
		}
		for v := low; v <= high; v += step {
			mask |= 1 << v
		}
		star = star || span == "*" && step == 1
	}
	return mask, star, nil
}

// span reads *, 5 and 1-5. With a step, 5 goes on to the end of the field.
func (f field) span(text string, stepped bool) (low, high int, err error) {
	if text == "*" {
		return f.min, f.max, nil
	}
	lowText, highText, ranged := strings.Cut(text, "-")
	if low, err = number(lowText); err != nil {
		return 0, 0, err
	}
	high = low
	switch {
	case ranged:
		if high, err = number(highText); err != nil {
			return 0, 0, err
		}
	case stepped:
		high = f.max
	}
	if low < f.min || high > f.max || low > high {
		return 0, 0, fmt.Errorf("%q is not within %d-%d, from low to high", text, f.min, f.max)
	}
	return low, high, nil
}

// number reads one or two digits.
func number(text string) (int, error) {
	if len(text) < 1 || len(text) > 2 || strings.Trim(text, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number of one or two digits", text)
	}
	return strconv.Atoi(text)
}

// never tells whether no day of any year matches, as with the 31st of February.
// The weekday alone excludes nothing: every month has every weekday.
func (r cronSpec) never() bool {
	if !r.anyDay && !r.anyWeekday {
		return false
	}
	first := bits.TrailingZeros64(r.days)
	for month := time.January; month <= time.December; month++ {
		// The year 2000 was a leap year. The day 0 of a month is the last of the one before.
		longest := time.Date(2000, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
		if r.months>>month&1 == 1 && first <= longest {
			return false
		}
	}
	return true
}

// everyHour tells whether the schedule is due in every hour of its days.
func (r cronSpec) everyHour() bool { return r.hours == 1<<24-1 }

// next returns the first reading at or after from and before until. Readings are
// written as times in UTC, whatever zone the clock is in; from is a whole minute.
func (r cronSpec) next(from, until time.Time) (time.Time, bool) {
	minute := minuteOf(from)
	for day := midnight(from); day.Before(until); minute = 0 {
		if r.months>>day.Month()&1 == 0 {
			day = time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		}
		if r.onDay(day) {
			if m, ok := r.inDay(minute); ok {
				reading := day.Add(time.Duration(m) * time.Minute)
				return reading, reading.Before(until)
			}
		}
		day = day.AddDate(0, 0, 1)
	}
	return time.Time{}, false
}

// onDay tells whether a day matches whose month does.
func (r cronSpec) onDay(day time.Time) bool {
	inMonth, inWeek := r.days>>day.Day()&1 == 1, r.weekdays>>day.Weekday()&1 == 1
	if r.anyDay || r.anyWeekday {
		return inMonth && inWeek
	}
	return inMonth || inWeek
}

// inDay returns the first minute of a day, 0 to 1439, at or after one.
func (r cronSpec) inDay(minute int) (int, bool) {
	hour := minute / 60
	if hour > 23 {
		return 0, false
	}
	if rest := r.minutes >> (minute % 60) << (minute % 60); r.hours>>hour&1 == 1 && rest != 0 {
		return hour*60 + bits.TrailingZeros64(rest), true
	}
	later := r.hours >> (hour + 1) << (hour + 1)
	if later == 0 {
		return 0, false
	}
	return bits.TrailingZeros64(later)*60 + bits.TrailingZeros64(r.minutes), true
}

func minuteOf(reading time.Time) int { return reading.Hour()*60 + reading.Minute() }

func midnight(reading time.Time) time.Time {
	return time.Date(reading.Year(), reading.Month(), reading.Day(), 0, 0, 0, 0, time.UTC)
}
