package schedule

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// scheduledTimesOf lists the scheduled times after one time and not after another.
func scheduledTimesOf(s Schedule, after, until time.Time) []string {
	var out []string
	for scheduledTime := s.Next(after); !scheduledTime.After(until); scheduledTime = s.Next(scheduledTime) {
		out = append(out, scheduledTime.Format("01-02 15:04"))
	}
	return out
}

// scheduledTimeTest is a schedule, a time and the scheduled times in it.
type scheduledTimeTest struct {
	expression, zone, after, until string
	want                           []string
}

func checkScheduledTimes(t *testing.T, tests map[string]scheduledTimeTest) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := scheduledTimesOf(mustParse(t, tt.expression, tt.zone), utc(t, tt.after), utc(t, tt.until))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("scheduledTimes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNextWhenClocksChange(t *testing.T) {
	t.Parallel()
	// Dublin: 29 March 2026 01:00 to 02:00, 25 October 02:00 back to 01:00, both at 01:00 UTC.
	// Lord Howe: 5 April 2026 02:00 back to 01:30, 4 October 02:00 to 02:30, both at 15:00 and 15:30 UTC the day before.
	checkScheduledTimes(t, map[string]scheduledTimeTest{
		"a skipped time runs once, at the offset before": {
			"30 1 * * *", "Europe/Dublin", "2026-03-28 00:00", "2026-03-30 12:00",
			[]string{"03-28 01:30", "03-29 01:30", "03-30 00:30"},
		},
		"a skipped time that meets another is one": {
			"30 1,2 * * *", "Europe/Dublin", "2026-03-28 12:00", "2026-03-29 12:00",
			[]string{"03-29 01:30"},
		},
		"a repeated time runs the first time": {
			"30 1 * * *", "Europe/Dublin", "2026-10-24 00:00", "2026-10-26 12:00",
			[]string{"10-24 00:30", "10-25 00:30", "10-26 01:30"},
		},
		"every minute of a skipped hour": {
			"0-59/30 1-1 * * *", "Europe/Dublin", "2026-03-28 12:00", "2026-03-29 12:00",
			[]string{"03-29 01:00", "03-29 01:30"},
		},
		"the hour before, the change and the hour after": {
			"0 0-2 * * *", "Europe/Dublin", "2026-10-24 20:00", "2026-10-25 12:00",
			[]string{"10-24 23:00", "10-25 00:00", "10-25 02:00"},
		},
		"every half hour, clock put forward": {
			"*/30 * * * *", "Europe/Dublin", "2026-03-29 00:00", "2026-03-29 02:00",
			[]string{"03-29 00:30", "03-29 01:00", "03-29 01:30", "03-29 02:00"},
		},
		"every half hour, clock put back": {
			"*/30 * * * *", "Europe/Dublin", "2026-10-25 00:00", "2026-10-25 02:00",
			[]string{"10-25 00:30", "10-25 01:00", "10-25 01:30", "10-25 02:00"},
		},
		"half an hour is skipped": {
			"15 2 * * *", "Australia/Lord_Howe", "2026-10-02 20:00", "2026-10-04 20:00",
			[]string{"10-03 15:45", "10-04 15:15"},
		},
		"half an hour is repeated": {
			"45 1 * * *", "Australia/Lord_Howe", "2026-04-03 20:00", "2026-04-05 20:00",
			[]string{"04-04 14:45", "04-05 15:15"},
		},
		"a whole day is skipped": {
			"0 2 * * *", "Pacific/Apia", "2011-12-29 00:00", "2011-12-31 23:00",
			[]string{"12-29 12:00", "12-30 12:00", "12-31 12:00"},
		},
	})
}

func TestNextInZones(t *testing.T) {
	t.Parallel()
	checkScheduledTimes(t, map[string]scheduledTimeTest{
		"the last day of a leap year that no table lists": {
			"0 1,13 * * *", "Europe/Dublin", "2040-12-30 12:00", "2041-01-01 12:00",
			[]string{"12-30 13:00", "12-31 01:00", "12-31 13:00", "01-01 01:00"},
		},
		"an offset of half an hour": {
			"0 2 * * *", "Asia/Kolkata", "2026-01-01 00:00", "2026-01-02 00:00",
			[]string{"01-01 20:30"},
		},
		"weekdays are those of the zone": {
			"0 2 * * 1", "Asia/Tokyo", "2026-11-20 00:00", "2026-11-27 00:00",
			[]string{"11-22 17:00"},
		},
	})
}

// defined lists the scheduled times as RFC 5545 defines them, minute by minute: each reading
// that matches, at the time that it stands for.
func defined(t *testing.T, expression string, zone *time.Location, after, until time.Time) []string {
	t.Helper()
	shifted := func(at time.Time) time.Time {
		_, seconds := at.In(zone).Zone()
		return at.Add(time.Duration(seconds) * time.Second)
	}
	rule := peer(t, expression)
	matches := func(reading time.Time) bool { return rule.Next(reading.Add(-time.Minute)).Equal(reading) }
	found := map[time.Time]bool{}
	everyHour := mustParse(t, expression, "").cronSpecs.everyHour()
	for reading := after.Add(-48 * time.Hour); reading.Before(until.Add(48 * time.Hour)); reading = reading.Add(time.Minute) {
		if !matches(reading) {
			continue
		}
		before := reading.Add(-shifted(reading.Add(-24 * time.Hour)).Sub(reading.Add(-24 * time.Hour)))
		later := reading.Add(-shifted(reading.Add(24 * time.Hour)).Sub(reading.Add(24 * time.Hour)))
		var times []time.Time
		for _, at := range []time.Time{before, later} {
			if shifted(at).Equal(reading) {
				times = append(times, at)
			}
		}
		if !everyHour {
			// None is there where the clock skips it; the first of two is before.
			times = append(times, before)[:1]
		}
		for _, at := range times {
			if at.After(after) && !at.After(until) {
				found[at] = true
			}
		}
	}
	var out []string
	for _, at := range slices.SortedFunc(maps.Keys(found), time.Time.Compare) {
		out = append(out, at.Format("01-02 15:04"))
	}
	return out
}

func TestNextAsDefinedWhereverClocksChange(t *testing.T) {
	t.Parallel()
	for _, change := range []struct{ zone, at string }{
		{"Europe/Dublin", "2026-03-29 01:00"}, {"Europe/Dublin", "2026-10-25 01:00"},
		{"America/New_York", "2027-03-14 07:00"}, {"America/New_York", "2027-11-07 06:00"},
		{"Australia/Lord_Howe", "2026-04-04 15:00"}, {"Australia/Lord_Howe", "2026-10-03 15:30"},
		{"America/St_Johns", "2010-03-14 03:31"}, {"America/St_Johns", "2010-11-07 02:31"},
		{"Africa/Casablanca", "2026-02-15 02:00"}, {"America/Havana", "2026-03-08 05:00"},
		{"Antarctica/Troll", "2026-03-29 01:00"}, {"Antarctica/Troll", "2026-10-25 01:00"},
		{"Australia/Sydney", "2040-04-01 00:00"}, {"Australia/Sydney", "2040-12-31 12:00"},
		{"Asia/Kolkata", "2026-06-01 00:00"},
	} {
		t.Run(change.zone+" "+change.at, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(change.zone)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(3, 4))
			after, until := utc(t, change.at).Add(-15*time.Hour), utc(t, change.at).Add(15*time.Hour)
			for range 30 {
				expression := fmt.Sprintf("%s %s * * *", field{0, 59}.random(r), field{0, 23}.random(r))
				got := scheduledTimesOf(mustParse(t, expression, change.zone), after, until)
				if diff := cmp.Diff(defined(t, expression, zone, after, until), got); diff != "" {
					t.Fatalf("%q (-defined +got):\n%s", expression, diff)
				}
			}
		})
	}
}
