package retention

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/api/apitest"
	"github.com/shopfleet/shopfleet/hub/data/schedule"
)

// shop is the backups of one application over the days.
type shop struct {
	t        *testing.T
	r        *rand.Rand
	log      strings.Builder
	schedule schedule.Schedule
	policy   Policy
	begin    time.Time
	now      time.Time
	last     time.Time
	backups  []Backup
	outage   int // Days until the hub is back.
	most     int // How many backups there were at most.
}

func (s *shop) say(format string, args ...any) {
	fmt.Fprintf(&s.log, "day %03d: "+format+"\n", append([]any{int(s.now.Sub(s.begin).Hours() / 24)}, args...)...)
}

// find returns the newest backup for which something holds.
func (s *shop) find(is func(Backup) bool) *Backup {
	for i := len(s.backups) - 1; i >= 0; i-- {
		if is(s.backups[i]) {
			return &s.backups[i]
		}
	}
	return nil
}

// run makes the backup that is due, if any; one in nine fails.
func (s *shop) run() {
	due := s.schedule.Due(s.last, s.now, schedule.Offset("shop", schedule.MaxOffset))
	if due.ScheduledTime.IsZero() {
		return
	}
	if due.Missed > 0 {
		s.say("%d missed, %s is caught up", due.Missed, due.ScheduledTime.Format(time.RFC3339))
	}
	s.last = due.ScheduledTime
	b := Backup{
		Name: schedule.BackupName("shop", "eu-1", due.ScheduledTime), CreatedAt: s.now, TakenAt: s.now.Add(time.Minute),
		State: StateCompleted, Method: "Snapshot", Account: "prod",
	}
	if s.r.IntN(9) == 0 {
		b.State, b.TakenAt = StateFailed, time.Time{}
		s.say("%s fails", b.Name)
	}
	s.backups = append(s.backups, b)
	s.most = max(s.most, len(s.backups))
}

// live simulates the actions of users and verifications on backups.
func (s *shop) live() {
	good := func(b Backup) bool { return b.good() }
	if b := s.find(func(b Backup) bool { return b.Pinned != "" }); b != nil && s.r.IntN(3) == 0 {
		b.Pinned = ""
		s.say("%s is restored", b.Name)
	}
	if b := s.find(good); b != nil && s.r.IntN(20) == 0 {
		b.Verified = true
		s.say("%s is verified", b.Name)
	}
	if s.r.IntN(40) == 0 && len(s.backups) > 8 {
		b := &s.backups[s.r.IntN(5)]
		b.Pinned = "being restored by r1"
		s.say("%s is pinned", b.Name)
	}
	if s.r.IntN(50) == 0 {
		s.outage = 1 + s.r.IntN(6)
		s.say("the hub is away for %d days", s.outage)
	}
}

// prune deletes, and checks what must never happen.
func (s *shop) prune() {
	catalog := Catalog{Backups: s.backups}
	catalog.Skews = map[string]time.Duration{"prod": 0}
	if s.r.IntN(25) == 0 {
		catalog.Skews["prod"] = time.Hour
	}
	newest := s.find(func(b Backup) bool { return b.good() })
	proven := s.find(func(b Backup) bool { return b.good() && b.Verified })
	result := Prune(s.now, catalog, s.policy)
	if result.Blocked != "" {
		s.say("nothing deleted: %s", result.Blocked)
	}
	for _, v := range result.Delete {
		i := slices.IndexFunc(s.backups, func(b Backup) bool { return b.Name == v.Name })
		b := s.backups[i]
		for _, must := range []*Backup{newest, proven} {
			if must != nil && must.Name == v.Name {
				s.t.Fatalf("%s is deleted; log:\n%s", v.Name, s.log.String())
			}
		}
		if result.Blocked != "" || b.Pinned != "" {
			s.t.Fatalf("%+v is deleted; log:\n%s", b, s.log.String())
		}
		s.say("deletes %s: %s", v.Name, v.Reason)
	}
	gone := namesOf(result.Delete)
	s.backups = slices.DeleteFunc(slices.Clone(s.backups), func(b Backup) bool { return strings.Contains(gone, b.Name) })
}

// TestSimulation lets an application live for 400 days and compares its log with
// one that people have read.
func TestSimulation(t *testing.T) {
	t.Parallel()
	daily, err := schedule.Parse("30 1 * * *", "Europe/Dublin")
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{
		t: t, r: rand.New(rand.NewPCG(4, 20)), schedule: daily,
		policy: Policy{KeepLast: 5, KeepDays: 14, MaxDeletions: 2, FailedAfter: 7 * 24 * time.Hour},
		begin:  utc(t, "2026-01-01 12:00"),
	}
	s.last, s.now = s.begin, s.begin
	for day := range 400 {
		s.now = s.begin.AddDate(0, 0, day)
		if s.outage > 0 {
			s.outage--
			continue
		}
		s.run()
		s.live()
		s.prune()
		if day%25 == 0 {
			s.say("%d backups", len(s.backups))
		}
	}
	if s.most > 40 {
		t.Errorf("%d backups at once: pruning does not keep up", s.most)
	}
	apitest.Golden(t, "days.golden", s.log.String())
}
