package retention

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// hoard is a random catalog, with what is asked about it.
type hoard struct {
	now     time.Time
	catalog Catalog
	policy  Policy
}

func newHoard(t testing.TB, r *rand.Rand) hoard {
	t.Helper()
	w := hoard{
		now:     utc(t, today),
		catalog: Catalog{Wanted: [][]string{nil, {"east"}, {"east", "west"}}[r.IntN(3)]},
		policy: Policy{
			KeepLast: r.IntN(6) - 1, KeepDays: r.IntN(40) - 1, MaxDeletions: r.IntN(12) - 1,
			FailedAfter: time.Duration(r.IntN(60)-1) * 24 * time.Hour, Ended: r.IntN(3) == 0,
		},
	}
	if r.IntN(4) == 0 {
		w.catalog.Skews = map[string]time.Duration{"prod": time.Duration(r.IntN(800)-400) * time.Second}
	}
	states := []State{
		StateCompleted, StateCompleted, StateCompleted, StateCompleted, StateFailed, StateFailed,
		StateInProgress, StateDeleting, StateTaken, StateMissing, StateMissing, "Strange",
	}
	for i := range r.IntN(25) {
		age := time.Duration(r.IntN(60*24)) * time.Hour
		b := Backup{
			Name: fmt.Sprintf("b%02d", i), TakenAt: w.now.Add(-age), CreatedAt: w.now.Add(-age - time.Minute),
			State: states[r.IntN(len(states))], Method: []string{"Snapshot", "Snapshot", "Dump"}[r.IntN(3)],
			Verified: r.IntN(9) == 0,
			Account:  []string{"", "", "prod"}[r.IntN(3)],
			Places:   [][]string{nil, {"east"}, {"west"}, {"east", "west"}, {"former"}}[r.IntN(5)],
		}
		b.Expires = r.IntN(5) == 0
		if r.IntN(9) == 0 {
			b.Pinned = "being copied to us-east-1"
		}
		if b.State != StateCompleted && r.IntN(2) == 0 || r.IntN(30) == 0 {
			b.TakenAt = time.Time{}
		}
		if r.IntN(150) == 0 {
			b.TakenAt = w.now.Add(time.Duration(r.IntN(48)) * time.Hour)
		}
		w.catalog.Backups = append(w.catalog.Backups, b)
	}
	return w
}

func (h hoard) result() Result { return Prune(h.now, h.catalog, h.policy) }

func TestPruneHoldsForRandomHoards(t *testing.T) {
	t.Parallel()
	deleted := 0
	for seed := range uint64(6000) {
		r := rand.New(rand.NewPCG(seed, 11))
		w := newHoard(t, r)
		result := w.result()
		deleted += len(result.Delete)
		for name, check := range map[string]func(*rand.Rand, Result) string{
			"deterministic": w.deterministic, "complete": w.complete, "bounded": w.bounded,
			"untouchable": w.untouchable, "newest": w.newest, "newest failed": w.newestFailed, "earned": w.earned, "monotone": w.monotone,
			"settled": w.settled,
		} {
			if problem := check(r, result); problem != "" {
				t.Fatalf("seed %d, %s: %s\nhoard: %+v\nplan: %+v", seed, name, problem, w, result)
			}
		}
	}
	if deleted < 1000 {
		t.Errorf("only %d deleted: the hoards show nothing", deleted)
	}
}

// deleted returns the backups that a result deletes.
func (h hoard) deleted(r Result) []Backup {
	var out []Backup
	for _, b := range h.catalog.Backups {
		if slices.ContainsFunc(r.Delete, func(v Decision) bool { return v.Name == b.Name }) {
			out = append(out, b)
		}
	}
	return out
}

func (h hoard) deterministic(r *rand.Rand, pruned Result) string {
	again := h
	again.catalog.Backups = slices.Clone(h.catalog.Backups)
	r.Shuffle(len(again.catalog.Backups), func(i, j int) {
		b := again.catalog.Backups
		b[i], b[j] = b[j], b[i]
	})
	return cmp.Diff(pruned, again.result())
}

// complete checks that each backup has one decision, with a reason.
func (h hoard) complete(_ *rand.Rand, r Result) string {
	var got, want []string
	for _, v := range append(slices.Clone(r.Keep), r.Delete...) {
		if v.Reason == "" || strings.Contains(v.Reason, "\n") {
			return "no reason of one line: " + v.Name
		}
		got = append(got, v.Name)
	}
	for _, b := range h.catalog.Backups {
		want = append(want, b.Name)
	}
	slices.Sort(got)
	return cmp.Diff(want, got)
}

func (h hoard) bounded(_ *rand.Rand, r Result) string {
	switch {
	case len(r.Delete) > max(h.policy.MaxDeletions, 0):
		return "more than allowed"
	case len(r.Delete) > 0 && r.Blocked != "":
		return "deletes what it cannot judge"
	}
	skew, known := h.catalog.Skews["prod"]
	there := func(b Backup) bool { return b.Account == "prod" }
	switch {
	case !known && slices.ContainsFunc(h.deleted(r), there):
		return "deletes what is by a clock that is not known"
	case skew.Abs() > 5*time.Minute && len(r.Delete) > 0 && slices.ContainsFunc(h.catalog.Backups, there):
		return "deletes by a clock that is wrong"
	}
	return ""
}

func (h hoard) untouchable(_ *rand.Rand, r Result) string {
	for _, b := range h.deleted(r) {
		if b.Pinned != "" || b.State != StateCompleted && b.State != StateFailed && b.State != StateMissing {
			return b.Name
		}
	}
	return ""
}

// newest checks that a newer backup of the same kind stays for each deleted one, but for those that expire.
func (h hoard) newest(_ *rand.Rand, r Result) string {
	gone := h.deleted(r)
	stays := func(because func(Backup) bool, than Backup) bool {
		return slices.ContainsFunc(h.catalog.Backups, func(b Backup) bool {
			return because(b) && b.State == StateCompleted && !b.TakenAt.Before(than.TakenAt) && (!h.policy.Ended || !b.Expires) &&
				!slices.ContainsFunc(gone, func(g Backup) bool { return g.Name == b.Name })
		})
	}
	for _, g := range gone {
		if g.State == StateFailed || h.policy.Ended && g.Expires {
			continue
		}
		switch {
		case !stays(func(Backup) bool { return true }, g):
			return "no good one newer than " + g.Name
		case g.Verified && g.State == StateCompleted && !stays(func(b Backup) bool { return b.Verified }, g):
			return "no verified one newer than " + g.Name
		case !stays(func(b Backup) bool { return b.Method == g.Method }, g):
			return "none of its method newer than " + g.Name
		}
		for _, place := range h.catalog.Wanted {
			in := func(b Backup) bool { return slices.Contains(b.Places, place) }
			if in(g) && !stays(in, g) {
				return "none in " + place + " newer than " + g.Name
			}
		}
	}
	return ""
}

// newestFailed checks that the newest failed one stays, as long as backups are made.
func (h hoard) newestFailed(_ *rand.Rand, r Result) string {
	gone := h.deleted(r)
	failed := func(b Backup) bool { return b.State == StateFailed }
	if slices.ContainsFunc(gone, failed) && !h.policy.Ended {
		all := slices.DeleteFunc(slices.Clone(h.catalog.Backups), func(b Backup) bool { return !failed(b) })
		last := slices.MaxFunc(all, func(a, b Backup) int { return a.CreatedAt.Compare(b.CreatedAt) })
		if slices.ContainsFunc(gone, func(b Backup) bool { return b.Name == last.Name }) {
			return "the newest failed one"
		}
	}
	return ""
}

// earned checks that a deleted backup is old enough and not one of the newest.
func (h hoard) earned(_ *rand.Rand, r Result) string {
	for _, g := range h.deleted(r) {
		newer := 0
		for _, b := range h.catalog.Backups {
			if b.State == StateCompleted && b.TakenAt.After(g.TakenAt) {
				newer++
			}
		}
		switch {
		case g.State == StateFailed && (h.policy.FailedAfter <= 0 || h.now.Sub(g.CreatedAt) <= h.policy.FailedAfter):
			return "failed too recently: " + g.Name
		case g.State != StateFailed && h.now.Sub(g.TakenAt) <= time.Duration(h.policy.KeepDays)*24*time.Hour:
			return "too young: " + g.Name
		case g.State == StateCompleted && newer < max(h.policy.KeepLast, 1)-1 && !h.policy.Ended:
			return "one of the newest: " + g.Name // Less one for those of the same age.
		}
	}
	return ""
}

// monotone checks that a backup that is deleted now would also be deleted later.
func (h hoard) monotone(r *rand.Rand, pruned Result) string {
	for range 4 {
		h.now = h.now.Add(time.Duration(r.IntN(20*24*3600)) * time.Second)
		later := h.result()
		for _, v := range pruned.Delete {
			// What no more backups are made of may have others come first, once fewer of them are kept.
			waits := h.policy.Ended && slices.ContainsFunc(later.Keep, func(k Decision) bool {
				return k.Name == v.Name && strings.HasPrefix(k.Reason, "expired; deleted later")
			})
			if !slices.Contains(later.Delete, v) && !waits {
				return fmt.Sprintf("%s is kept at %s", v.Name, h.now)
			}
		}
		pruned = later
	}
	return ""
}

// settled checks that repeated pruning ends with nothing left to delete.
func (h hoard) settled(_ *rand.Rand, r Result) string {
	for range 30 {
		if len(r.Delete) == 0 {
			break
		}
		gone := h.deleted(r)
		h.catalog.Backups = slices.DeleteFunc(slices.Clone(h.catalog.Backups), func(b Backup) bool {
			return slices.ContainsFunc(gone, func(g Backup) bool { return g.Name == b.Name })
		})
		r = h.result()
	}
	if h.policy.MaxDeletions > 0 && r.Blocked == "" &&
		slices.ContainsFunc(r.Keep, func(v Decision) bool { return strings.HasPrefix(v.Reason, "goes later") }) {
		return "something is left"
	}
	return ""
}
