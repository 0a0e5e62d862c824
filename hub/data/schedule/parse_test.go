package schedule

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // So that the tests need no folder of zones.

	"github.com/robfig/cron/v3"
)

// mustParse parses an expression, and fails the test if it is invalid.
func mustParse(t testing.TB, expression, zone string) Schedule {
	t.Helper()
	s, err := Parse(expression, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// utc reads a time such as 2026-11-21 02:00.
func utc(t testing.TB, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		expression, zone string
		never            bool
	}{
		"nothing":               {expression: ""},
		"four fields":           {expression: "0 2 * *"},
		"six fields":            {expression: "0 0 2 * * *"},
		"a macro":               {expression: "@daily"},
		"an interval":           {expression: "@every 1h"},
		"a zone within":         {expression: "TZ=UTC 0 2 * * *"},
		"a zone without end":    {expression: "TZ=0"},
		"a name":                {expression: "0 2 * * MON"},
		"a question mark":       {expression: "0 2 ? * *"},
		"a sign":                {expression: "+5 2 * * *"},
		"31 February":           {expression: "0 2 31 2 *", never: true},
		"30 or 31 February":     {expression: "0 2 30-31 2 *", never: true},
		"31 of short months":    {expression: "0 2 31 2,4,6,9,11 *", never: true},
		"the machine's zone":    {expression: "0 2 * * *", zone: "Local"},
		"no such zone":          {expression: "0 2 * * *", zone: "Europe/Atlantis"},
		"a path above the zone": {expression: "0 2 * * *", zone: "../etc/passwd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(tt.expression, tt.zone)
			if err == nil {
				t.Fatal("no error")
			}
			if errors.Is(err, ErrNever) != tt.never {
				t.Errorf("error %v: is ErrNever %t, want %t", err, !tt.never, tt.never)
			}
		})
	}
}

func TestParseAcceptsRareDays(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"0 2 29 2 *": "2104-02-29 02:00", // 2100 is no leap year.
		"0 2 31 2 1": "2097-02-04 02:00", // A Monday of February, since the days exclude each other not.
		"0 2 31 * *": "2096-03-31 02:00",
	} {
		if got := mustParse(t, expression, "").Next(utc(t, "2096-03-01 00:00")); !got.Equal(utc(t, want)) {
			t.Errorf("%q after February 2096 is %s, want %s", expression, got, want)
		}
	}
	if got := (Schedule{}).Next(utc(t, "2026-01-01 00:00")); !got.IsZero() {
		t.Errorf("the zero Schedule has the scheduledTime %s", got)
	}
}

// randomExpression draws from all that the API accepts.
func randomExpression(r *rand.Rand) string {
	fields := []field{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}
	texts := make([]string, 0, len(fields))
	for _, f := range fields {
		items := make([]string, 1+r.IntN(3)/2)
		for i := range items {
			items[i] = f.random(r)
		}
		texts = append(texts, strings.Join(items, ","))
	}
	return strings.Join(texts, " ")
}

// field is the range of one of the five fields.
type field struct{ min, max int }

func (f field) random(r *rand.Rand) string {
	text := "*"
	if low := f.min + r.IntN(f.max-f.min+1); r.IntN(2) == 0 {
		text = fmt.Sprintf([]string{"%d", "%02d"}[r.IntN(2)], low)
		if f.max < 10 {
			text = fmt.Sprint(low)
		}
		if r.IntN(2) == 0 {
			text += fmt.Sprintf("-%d", low+r.IntN(f.max-low+1))
		}
	}
	if r.IntN(3) == 0 {
		text += fmt.Sprintf("/%d", 1+r.IntN(99))
	}
	return text
}

// peer parses as Kubernetes does.
func peer(t testing.TB, expression string) cron.Schedule {
	t.Helper()
	s, err := cron.ParseStandard(expression)
	if err != nil {
		t.Fatalf("Kubernetes refuses %q: %v", expression, err)
	}
	return s
}

// agree compares scheduled times in UTC, where the clock never changes, with those of
// Kubernetes: the same, or the error that there are none.
func agree(t testing.TB, expression string, from time.Time) {
	t.Helper()
	want := peer(t, expression).Next(from)
	s, err := Parse(expression, "UTC")
	if errors.Is(err, ErrNever) {
		if !want.IsZero() {
			t.Fatalf("%q is said to be never due, and Kubernetes has it at %s", expression, want)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		got := s.Next(from)
		// Kubernetes gives up after five years.
		if want.IsZero() && got.Sub(from) > 4*365*24*time.Hour {
			return
		}
		if !got.Equal(want) {
			t.Fatalf("%q after %s is %s, for Kubernetes %s", expression, from, got, want)
		}
		from, want = got, peer(t, expression).Next(got)
	}
}

func TestNextAgreesWithKubernetes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		from := time.Unix(r.Int64N(60*365*24*3600), r.Int64N(1e9)).UTC().AddDate(5, 0, 0)
		agree(t, randomExpression(r), from)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0 2 * * *", "*/15 * * * *", "5/20 1-5 */2 1,7 0-6/3", "0 0 29 2 *", "0 0 31 2 *", "TZ=0", "@every 1h", "1-2-3 * * * *", "*,5/2 * *,1 * 1"} {
		f.Add(seed)
	}
	from := time.Date(2026, 2, 27, 23, 59, 59, 0, time.UTC)
	f.Fuzz(func(t *testing.T, expression string) {
		s, err := Parse(expression, "Europe/Dublin")
		if err != nil {
			if !s.Next(from).IsZero() {
				t.Fatalf("%q is refused and has scheduledTimes", expression)
			}
			return
		}
		agree(t, expression, from)
		scheduledTime := s.Next(from)
		for range 50 {
			next := s.Next(scheduledTime)
			if !next.After(scheduledTime) || !next.Equal(next.Truncate(time.Minute)) || next.Location() != time.UTC {
				t.Fatalf("%q: %s comes after %s", expression, next, scheduledTime)
			}
			scheduledTime = next
		}
	})
}
