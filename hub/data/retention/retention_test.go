package retention

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const today = "2026-11-21 12:00"

// utc reads a time such as 2026-11-21 02:00.
func utc(t testing.TB, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// old makes a good backup that was cut days ago; the options say what is different.
func old(t testing.TB, name string, days int, options ...func(*Backup)) Backup {
	t.Helper()
	at := utc(t, today).AddDate(0, 0, -days)
	b := Backup{Name: name, TakenAt: at, CreatedAt: at, State: StateCompleted, Method: "Snapshot"}
	for _, o := range options {
		o(&b)
	}
	return b
}

func in(s State) func(*Backup)     { return func(b *Backup) { b.State = s } }
func verified(b *Backup)           { b.Verified = true }
func pinned(b *Backup)             { b.Pinned = "being restored by r1" }
func dumped(b *Backup)             { b.Method = "Dump" }
func untakenBackup(b *Backup)      { b.TakenAt = time.Time{} }
func timeless(b *Backup)           { b.TakenAt, b.CreatedAt = time.Time{}, time.Time{} }
func complete(b ...Backup) Catalog { return Catalog{Backups: b} }

// skewed returns a catalog of two backups that are kept and one that is due in the account prod,
// and one that is due in the account old.
func skewed(t *testing.T, skews map[string]time.Duration) Catalog {
	t.Helper()
	in := func(account string) func(*Backup) { return func(b *Backup) { b.Account = account } }
	i := complete(old(t, "a", 1, in("prod")), old(t, "b", 2, in("prod")), old(t, "c", 50, in("prod")), old(t, "d", 60, in("old")))
	i.Skews = skews
	return i
}

// policy keeps 2 newest and 30 days, and deletes 10 at once.
func policy() Policy {
	return Policy{KeepLast: 2, KeepDays: 30, MaxDeletions: 10, FailedAfter: 7 * 24 * time.Hour}
}

const (
	whyOld    = "older than 30 days and not one of the 2 newest"
	whyFailed = "failed more than 168h0m0s ago"
	whyNewest = "the newest successful one"
	whyLast   = "one of the 2 newest"
)

func TestPruneOne(t *testing.T) {
	t.Parallel()
	// Each stands beside two newer good ones, of which the result keeps both.
	for name, tt := range map[string]struct {
		backup Backup
		kept   string // Empty: deleted for its age.
	}{
		"old":                       {old(t, "x", 31), ""},
		"on its last day":           {old(t, "x", 30), "not older than 30 days"},
		"pinned":                    {old(t, "x", 400, pinned), "being restored by r1"},
		"failed and pinned":         {old(t, "x", 400, pinned, in(StateFailed)), "being restored by r1"},
		"in progress":               {old(t, "x", 400, in(StateInProgress)), `neither completed nor failed: "InProgress"`},
		"taken":                     {old(t, "x", 400, in(StateTaken)), `neither completed nor failed: "Taken"`},
		"on its way out":            {old(t, "x", 400, in(StateDeleting)), `neither completed nor failed: "Deleting"`},
		"a state we do not know":    {old(t, "x", 400, in("Archived")), `neither completed nor failed: "Archived"`},
		"no state":                  {old(t, "x", 400, in("")), `neither completed nor failed: ""`},
		"no time":                   {old(t, "x", 400, timeless), "its age is unknown"},
		"completed and never cut":   {old(t, "x", 400, untakenBackup), "its age is unknown"},
		"failed, no time":           {old(t, "x", 400, in(StateFailed), timeless), "its age is unknown"},
		"missing":                   {old(t, "x", 31, in(StateMissing)), "DELETED lost in the cloud and older than 30 days"},
		"missing, on its last day":  {old(t, "x", 30, in(StateMissing)), "not older than 30 days"},
		"missing and pinned":        {old(t, "x", 400, pinned, in(StateMissing)), "being restored by r1"},
		"missing, no time":          {old(t, "x", 400, untakenBackup, in(StateMissing)), "its age is unknown"},
		"missing, of its own kind":  {old(t, "x", 400, dumped, in(StateMissing)), "no newer successful one is left"},
		"the only verified one":     {old(t, "x", 400, verified), "the newest verified one"},
		"the only one of its kind":  {old(t, "x", 400, dumped), "the newest successful one of its method"},
		"the only failed one":       {old(t, "x", 400, in(StateFailed)), "the newest failed one, for diagnosis"},
		"verified and failed later": {old(t, "x", 400, verified, in(StateFailed)), "the newest failed one, for diagnosis"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := Result{Keep: []Decision{{"new-1", whyNewest}, {"new-2", whyLast}}}
			switch reason, deleted := strings.CutPrefix(tt.kept, "DELETED "); {
			case deleted:
				want.Delete = []Decision{{"x", reason}}
			case tt.kept == "":
				want.Delete = []Decision{{"x", whyOld}}
			default:
				want.Keep = append(want.Keep, Decision{"x", tt.kept})
			}
			got := Prune(utc(t, today), complete(tt.backup, old(t, "new-1", 1), old(t, "new-2", 2)), policy())
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		catalog   Catalog
		change    func(*Policy)
		keep      string // Names.
		delete    string // Names, in order.
		blocked   string
		postponed string
	}{
		"nothing":                       {catalog: complete()},
		"the only one, however old":     {catalog: complete(old(t, "a", 4000)), keep: "a"},
		"the newest two, however old":   {catalog: complete(old(t, "a", 60), old(t, "b", 61), old(t, "c", 62)), keep: "a b", delete: "c"},
		"oldest first":                  {catalog: complete(old(t, "a", 1), old(t, "b", 2), old(t, "c", 50), old(t, "d", 70), old(t, "e", 60)), keep: "a b", delete: "d e c"},
		"of the same age by name":       {catalog: complete(old(t, "d", 60), old(t, "c", 60), old(t, "b", 60), old(t, "a", 60)), keep: "c d", delete: "a b"},
		"no more than allowed":          {catalog: complete(old(t, "a", 1), old(t, "b", 2), old(t, "c", 50), old(t, "d", 60)), change: func(p *Policy) { p.MaxDeletions = 1 }, keep: "a b c", delete: "d"},
		"none allowed":                  {catalog: complete(old(t, "a", 1), old(t, "b", 2), old(t, "c", 50)), change: func(p *Policy) { p.MaxDeletions = -1 }, keep: "a b c"},
		"the zero policy":               {catalog: complete(old(t, "a", 1), old(t, "b", 2), old(t, "c", 50, in(StateFailed))), change: func(p *Policy) { *p = Policy{} }, keep: "a b c"},
		"keepLast of nothing is 1":      {catalog: complete(old(t, "a", 50), old(t, "b", 51)), change: func(p *Policy) { p.KeepLast = -5 }, keep: "a", delete: "b"},
		"keepDays of nothing":           {catalog: complete(old(t, "a", 0), old(t, "b", 1), old(t, "c", 2)), change: func(p *Policy) { p.KeepDays = -5 }, keep: "a b", delete: "c"},
		"keepDays beyond all time":      {catalog: complete(old(t, "a", 0), old(t, "b", 1), old(t, "c", 36000)), change: func(p *Policy) { p.KeepDays = 1 << 60 }, keep: "a b c"},
		"failed ones by their own age":  {catalog: complete(old(t, "a", 1), old(t, "f", 2, in(StateFailed)), old(t, "g", 8, in(StateFailed)), old(t, "h", 7, in(StateFailed))), keep: "a f h", delete: "g"},
		"failed ones for ever":          {catalog: complete(old(t, "f", 2, in(StateFailed)), old(t, "g", 800, in(StateFailed))), change: func(p *Policy) { p.FailedAfter = 0 }, keep: "f g"},
		"a failed one holds no place":   {catalog: complete(old(t, "f", 1, in(StateFailed)), old(t, "a", 50), old(t, "b", 51), old(t, "c", 52)), keep: "a b f", delete: "c"},
		"one on its way holds no place": {catalog: complete(old(t, "f", 1, in(StateDeleting)), old(t, "a", 50), old(t, "b", 51), old(t, "c", 52)), keep: "a b f", delete: "c"},
		"what is due the longest":       {catalog: complete(old(t, "a", 0), old(t, "b", 1), old(t, "c", 35), old(t, "f", 2, in(StateFailed)), old(t, "g", 20, in(StateFailed))), change: func(p *Policy) { p.MaxDeletions = 1 }, keep: "a b c f", delete: "g"},
		"a clock ahead":                 {catalog: skewed(t, map[string]time.Duration{"prod": MaxClockSkew + 1, "old": 0}), keep: "a b c d", blocked: `of the CloudAccount "prod" differ by more than 5m0s`},
		"a clock behind":                {catalog: skewed(t, map[string]time.Duration{"prod": -25 * 24 * time.Hour, "old": 0}), keep: "a b c d", blocked: `of the CloudAccount "prod" differ by more than 5m0s`},
		"clocks that differ a little":   {catalog: skewed(t, map[string]time.Duration{"prod": -MaxClockSkew, "old": MaxClockSkew}), keep: "a b", delete: "d c"},
		"a clock that is not known":     {catalog: skewed(t, map[string]time.Duration{"prod": 0}), keep: "a b d", delete: "c", postponed: `the clock skew of the CloudAccount "old" is unknown`},
		"the clock of another account":  {catalog: skewed(t, map[string]time.Duration{"prod": 0, "old": 0, "other": time.Hour}), keep: "a b", delete: "d c"},
		"missing ones":                  {catalog: complete(old(t, "m", 40, in(StateMissing)), old(t, "a", 50), old(t, "n", 60, in(StateMissing)), old(t, "b", 70), old(t, "c", 80)), keep: "a b m", delete: "c n"},
		"a snapshot in the future":      {catalog: complete(old(t, "a", -1), old(t, "b", 2), old(t, "c", 50)), keep: "a b c", blocked: `"a" has a snapshot time in the future`},
		"a name twice":                  {catalog: complete(old(t, "a", 1), old(t, "b", 2), old(t, "c", 50), old(t, "c", 60)), keep: "a b c c", blocked: `two backups are named "c"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := policy()
			if tt.change != nil {
				tt.change(&p)
			}
			result := Prune(utc(t, today), tt.catalog, p)
			if got := namesOf(result.Keep); got != tt.keep {
				t.Errorf("keeps %q, want %q: %+v", got, tt.keep, result)
			}
			if got := namesOf(result.Delete); got != tt.delete {
				t.Errorf("deletes %q, want %q: %+v", got, tt.delete, result)
			}
			if !strings.Contains(result.Blocked, tt.blocked) || (tt.blocked == "") != (result.Blocked == "") {
				t.Errorf("blocked %q, want %q", result.Blocked, tt.blocked)
			}
			if result.Postponed != tt.postponed+result.Blocked { // One of the two.
				t.Errorf("postponed %q, want %q", result.Postponed, tt.postponed+result.Blocked)
			}
		})
	}
}

func namesOf(decisions []Decision) string {
	var out []string
	for _, v := range decisions {
		out = append(out, v.Name)
	}
	return strings.Join(out, " ")
}

func TestPruneSaysWhy(t *testing.T) {
	t.Parallel()
	p := policy()
	p.MaxDeletions = 2
	got := Prune(utc(t, today), complete(old(t, "a", 1), old(t, "b", 2), old(t, "c", 50), old(t, "d", 51),
		old(t, "f", 3, in(StateFailed)), old(t, "g", 5, in(StateFailed)), old(t, "h", 40, in(StateFailed))), p)
	want := Result{
		Keep: []Decision{
			{"a", whyNewest}, {"b", whyLast}, {"c", "expired; deleted later, since at most 2 are deleted at a time"},
			{"f", "the newest failed one, for diagnosis"}, {"g", "failed no longer than 168h0m0s ago"},
		},
		Delete: []Decision{{"h", whyFailed}, {"d", whyOld}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestPolicyOf(t *testing.T) {
	t.Parallel()
	want := Policy{KeepLast: 7, KeepDays: 30, MaxDeletions: 10, FailedAfter: 168 * time.Hour}
	if diff := cmp.Diff(want, PolicyOf(v1.Retention{})); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	want.KeepLast, want.KeepDays = 3, 90
	if diff := cmp.Diff(want, PolicyOf(v1.Retention{KeepLast: new(int32(3)), KeepDays: new(int32(90))})); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}

// TestKeepLastCountsInEachPlace checks that a backup counts only in the places where it is, and in wanted ones.
func TestKeepLastCountsInEachPlace(t *testing.T) {
	t.Parallel()
	at := func(places ...string) func(*Backup) { return func(b *Backup) { b.Places = places } }
	catalog := complete(
		old(t, "a", 40, at("east", "west", "former")), old(t, "b", 39, at("east", "west")), old(t, "c", 38, at("east", "west")),
		old(t, "d", 37, at("west")), old(t, "e", 36, at("west")), old(t, "f", 35), old(t, "g", 34),
	)
	catalog.Wanted = []string{"east", "west"}
	want := Result{
		Keep: []Decision{
			{"b", "one of the 2 newest in east"}, {"c", "one of the 2 newest in east"},
			{"d", "one of the 2 newest in west"}, {"e", "one of the 2 newest in west"}, {"f", whyLast}, {"g", whyNewest},
		},
		Delete: []Decision{{"a", whyOld}},
	}
	if diff := cmp.Diff(want, Prune(utc(t, today), catalog, policy())); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

// TestACopyOfAMissingBackupCounts checks that a backup that is missing where it was made is kept where it is one of the
// newest, and that none goes there for it.
func TestACopyOfAMissingBackupCounts(t *testing.T) {
	t.Parallel()
	at := func(places ...string) func(*Backup) { return func(b *Backup) { b.Places = places } }
	catalog := complete(
		old(t, "a", 40, at("east")), old(t, "b", 39, at("east")), old(t, "c", 38, at("east"), in(StateMissing)), old(t, "d", 37, at("east")),
		old(t, "e", 36, in(StateMissing)), old(t, "f", 35), old(t, "g", 34),
	)
	catalog.Wanted = []string{"east"}
	want := Result{
		Keep: []Decision{
			{"b", "one of the 2 newest in east"}, {"c", "one of the 2 newest in east"}, {"d", "one of the 2 newest in east"}, {"f", whyLast}, {"g", whyNewest},
		},
		Delete: []Decision{{"a", whyOld}, {"e", "lost in the cloud and older than 30 days"}},
	}
	if diff := cmp.Diff(want, Prune(utc(t, today), catalog, policy())); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

// TestPruneAfterTheEnd checks that of what is not backed up any more only what has a newer good one is deleted.
func TestPruneAfterTheEnd(t *testing.T) {
	t.Parallel()
	east := func(b *Backup) { b.Places = []string{"east"} }
	expires := func(b *Backup) { b.Expires = true }
	for name, tt := range map[string]struct {
		catalog      Catalog
		keep, delete string
	}{
		"the only one":            {complete(old(t, "a", 4000)), "a", ""},
		"the newest":              {complete(old(t, "a", 50), old(t, "b", 51), old(t, "c", 52)), "a", "c b"},
		"not for long":            {complete(old(t, "a", 30), old(t, "b", 50), old(t, "c", 51)), "a b c", ""},
		"a failed one since":      {complete(old(t, "f", 1, in(StateFailed)), old(t, "a", 50), old(t, "b", 51)), "a f", "b"},
		"the newest verified":     {complete(old(t, "a", 50), old(t, "b", 51, verified), old(t, "c", 52, verified)), "a b", "c"},
		"the newest in a place":   {Catalog{Wanted: []string{"east"}, Backups: []Backup{old(t, "a", 50), old(t, "b", 51, east), old(t, "c", 52, east)}}, "a b", "c"},
		"a failed one, and no":    {complete(old(t, "f", 50, in(StateFailed)), old(t, "a", 51)), "a f", ""},
		"a failed one, and a new": {complete(old(t, "f", 50, in(StateFailed)), old(t, "a", 49)), "a", "f"},
		"one that expires":        {complete(old(t, "a", 50, expires)), "", "a"},
		"one that expires later":  {complete(old(t, "a", 30, expires)), "a", ""},
		"it replaces no other":    {complete(old(t, "a", 50, expires), old(t, "b", 51)), "b", "a"},
		"the newest of the rest":  {complete(old(t, "a", 29, expires), old(t, "b", 51), old(t, "c", 52)), "a b", "c"},
		"a failed one expires":    {complete(old(t, "f", 50, in(StateFailed), expires)), "", "f"},
		"failed ones alone":       {complete(old(t, "f", 50, in(StateFailed)), old(t, "g", 49, in(StateFailed))), "f g", ""},
	} {
		p := policy()
		p.KeepLast, p.Ended = 7, true
		result := Prune(utc(t, today), tt.catalog, p)
		if got := namesOf(result.Keep); got != tt.keep {
			t.Errorf("%s: keeps %q, want %q", name, got, tt.keep)
		}
		if got := namesOf(result.Delete); got != tt.delete {
			t.Errorf("%s: deletes %q, want %q", name, got, tt.delete)
		}
	}
}
