package schedule

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDue(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		expression, last, now string
		offset                time.Duration
		scheduledTime, next   string
		missed                int
	}{
		"before the first":            {"0 2 * * *", "2026-11-20 12:00", "2026-11-21 01:59", 0, "", "2026-11-21 02:00", 0},
		"on the minute":               {"0 2 * * *", "2026-11-20 02:00", "2026-11-21 02:00", 0, "2026-11-21 02:00", "2026-11-22 02:00", 0},
		"after it":                    {"0 2 * * *", "2026-11-20 02:00", "2026-11-21 09:00", 0, "2026-11-21 02:00", "2026-11-22 02:00", 0},
		"done":                        {"0 2 * * *", "2026-11-21 02:00", "2026-11-21 09:00", 0, "", "2026-11-22 02:00", 0},
		"made in the minute itself":   {"0 2 * * *", "2026-11-21 02:00", "2026-11-21 02:00", 0, "", "2026-11-22 02:00", 0},
		"three missed, one caught up": {"0 2 * * *", "2026-11-17 02:00", "2026-11-21 09:00", 0, "2026-11-21 02:00", "2026-11-22 02:00", 3},
		"more missed than counted":    {"* * * * *", "2021-11-21 00:00", "2026-11-21 00:00", 0, "2026-11-21 00:00", "2026-11-21 00:01", MaxMissed},
		"its offset is not over":      {"0 2 * * *", "2026-11-20 02:00", "2026-11-21 02:03", 4 * time.Minute, "", "2026-11-21 02:00", 0},
		"its offset is over":          {"0 2 * * *", "2026-11-20 02:00", "2026-11-21 02:04", 4 * time.Minute, "2026-11-21 02:00", "2026-11-22 02:00", 0},
		"the offset has grown":        {"0 2 * * *", "2026-11-21 02:00", "2026-11-21 02:03", 4 * time.Minute, "", "2026-11-22 02:00", 0},
		"a last from the future":      {"0 2 * * *", "2030-01-01 02:00", "2026-11-21 09:00", 0, "", "2026-11-22 02:00", 0},
		"no last":                     {"0 2 * * *", "0001-01-01 00:00", "2026-11-21 09:00", 0, "", "2026-11-22 02:00", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := Due{Missed: tt.missed, Next: utc(t, tt.next), NextAt: utc(t, tt.next).Add(tt.offset)}
			if tt.scheduledTime != "" {
				want.ScheduledTime = utc(t, tt.scheduledTime)
			}
			got := mustParse(t, tt.expression, "").Due(utc(t, tt.last), utc(t, tt.now), tt.offset)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("due (-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(Due{}, Schedule{}.Due(utc(t, "2026-01-01 00:00"), utc(t, "2026-02-01 00:00"), time.Minute)); diff != "" {
		t.Errorf("the zero Schedule asks for something:\n%s", diff)
	}
}

// TestDueFindsTheNewest compares with going through all scheduled times one by one.
func TestDueFindsTheNewest(t *testing.T) {
	t.Parallel()
	zones := []string{"UTC", "Europe/Dublin", "Australia/Lord_Howe", "America/New_York"}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 5))
		expression, zone := randomExpression(r), zones[r.IntN(len(zones))]
		s, err := Parse(expression, zone)
		if err != nil {
			continue // Never due.
		}
		last := utc(t, "2026-03-20 00:00").Add(time.Duration(r.IntN(300*24*3600)) * time.Second)
		now := last.Add(time.Duration(r.IntN(20*24*3600)) * time.Second)
		offset := time.Duration(r.IntN(300)) * time.Second
		want := Due{Next: s.Next(last)}
		n := -1
		for !want.Next.Add(offset).After(now) {
			want.ScheduledTime, want.Next = want.Next, s.Next(want.Next)
			n++
		}
		want.Missed, want.NextAt = min(max(n, 0), MaxMissed), want.Next.Add(offset)
		if diff := cmp.Diff(want, s.Due(last, now, offset)); diff != "" {
			t.Fatalf("seed %d: %q in %s, last %s, now %s (-want +got):\n%s", seed, expression, zone, last, now, diff)
		}
	}
}

// TestDueRunsEachScheduledTimeOnce lets a hub ask at random times over a year: every scheduled time
// runs at most once, in order, and none that is not the newest.
func TestDueRunsEachScheduledTimeOnce(t *testing.T) {
	t.Parallel()
	s := mustParse(t, "0 */6 * * *", "Europe/Dublin")
	r := rand.New(rand.NewPCG(6, 7))
	begin := utc(t, "2026-01-01 00:00")
	last, ran, missed := begin, 0, 0
	for now := begin; now.Before(begin.AddDate(1, 0, 0)); now = now.Add(time.Duration(r.IntN(12*60)) * time.Minute) {
		due := s.Due(last, now, Offset("a", MaxOffset))
		if due.ScheduledTime.IsZero() {
			continue
		}
		if !due.ScheduledTime.After(last) || due.Next.Before(due.ScheduledTime) {
			t.Fatalf("after %s at %s: %+v", last, now, due)
		}
		last = due.ScheduledTime
		ran++
		missed += due.Missed
	}
	if total := len(scheduledTimesOf(s, begin, last)); missed == 0 || ran+missed != total {
		t.Errorf("%d ran and %d were missed of %d scheduledTimes", ran, missed, total)
	}
}

func TestOffset(t *testing.T) {
	t.Parallel()
	window := Window(24 * time.Hour)
	if window != MaxOffset || Window(10*time.Minute) != time.Minute {
		t.Errorf("windows %s and %s", window, Window(10*time.Minute))
	}
	var buckets [5]int
	for i := range 100 {
		key := fmt.Sprintf("uid-%d", i)
		offset := Offset(key, window)
		if offset < 0 || offset >= window || offset != offset.Truncate(time.Second) || offset != Offset(key, window) {
			t.Fatalf("offset %s of %s in %s", offset, key, window)
		}
		buckets[offset/time.Minute]++
	}
	for minute, n := range buckets {
		if n < 8 || n > 35 {
			t.Errorf("%d of 100 in minute %d", n, minute)
		}
	}
	for _, none := range []time.Duration{0, -time.Hour, time.Second - 1} {
		if got := Offset("a", none); got != 0 {
			t.Errorf("offset %s in a window of %s", got, none)
		}
	}
	if got := Offset("a", 100*365*24*time.Hour); got < 0 {
		t.Errorf("a window of a century gives %s", got)
	}
}

func TestIntervals(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, tt := range map[string]struct {
		expression, zone string
		min, maxRPO      time.Duration
	}{
		"daily":                  {"0 2 * * *", "", day, 36 * time.Hour},
		"daily in Dublin":        {"0 2 * * *", "Europe/Dublin", 23 * time.Hour, 36 * time.Hour},
		"every minute":           {"* * * * *", "Europe/Dublin", time.Minute, 90 * time.Second},
		"every ten minutes":      {"*/10 * * * *", "Europe/Dublin", 10 * time.Minute, 15 * time.Minute},
		"hourly":                 {"37 * * * *", "Australia/Lord_Howe", 30 * time.Minute, 90 * time.Minute},
		"a step that ends early": {"*/40 * * * *", "", 20 * time.Minute, 60 * time.Minute},
		"weekdays":               {"0 2 * * 1-5", "", day, 108 * time.Hour},
		"twice a day, unevenly":  {"0 2,3 * * *", "", time.Hour, 34*time.Hour + 30*time.Minute},
		"across midnight":        {"0,50 0,23 * * *", "", 10 * time.Minute, 33*time.Hour + 15*time.Minute},
		"monthly":                {"0 2 1 * *", "", 28 * day, 31 * day * 3 / 2},
		"a leap day":             {"0 2 29 2 *", "", 4*365*day + day, (4*365*day + day) * 3 / 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mustParse(t, tt.expression, tt.zone)
			from := utc(t, "2026-11-21 12:34")
			if got := s.MinInterval(from); got != tt.min {
				t.Errorf("shortest %s, want %s", got, tt.min)
			}
			if got := s.DefaultMaxRPO(from); got != tt.maxRPO {
				t.Errorf("bound %s, want %s", got, tt.maxRPO)
			}
		})
	}
	if got := (Schedule{}).MinInterval(utc(t, "2026-01-01 00:00")) + (Schedule{}).DefaultMaxRPO(utc(t, "2026-01-01 00:00")); got != 0 {
		t.Errorf("the zero Schedule has intervals of %s", got)
	}
}

// TestIntervalsAreThoseOfAllScheduledTimes compares with going through all scheduled times of the year.
func TestIntervalsAreThoseOfAllScheduledTimes(t *testing.T) {
	t.Parallel()
	zones := []string{"UTC", "Europe/Dublin", "Africa/Casablanca", "Australia/Lord_Howe"}
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 8))
		expression, zone := randomExpression(r), zones[r.IntN(len(zones))]
		s, err := Parse(expression, zone)
		if err != nil {
			continue // Never due.
		}
		from := utc(t, "2026-01-01 00:00").Add(time.Duration(r.IntN(365*24*60)) * time.Minute)
		year := from.AddDate(1, 0, 0)
		scheduledTime := s.Next(from)
		var shortest, longest time.Duration
		for shortest == 0 || scheduledTime.Before(year) {
			next := s.Next(scheduledTime)
			if gap := next.Sub(scheduledTime); shortest == 0 || gap < shortest {
				shortest = gap
			}
			longest = max(longest, next.Sub(scheduledTime))
			scheduledTime = next
		}
		if gotShortest, gotLongest := s.intervals(from); gotShortest != shortest || gotLongest != longest {
			t.Fatalf("seed %d: %q in %s from %s: %s to %s, want %s to %s", seed, expression, zone, from, gotShortest, gotLongest, shortest, longest)
		}
	}
}
