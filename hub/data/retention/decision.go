package retention

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// pruning holds what the decision about a backup depends on besides that backup.
type pruning struct {
	now    time.Time
	policy Policy
	// newest maps the names of backups that are kept for being the newest of a kind to
	// that kind.
	newest map[string]string
}

// newPruning ranks the backups; pinned ones rank like others.
func newPruning(now time.Time, catalog Catalog, policy Policy) pruning {
	policy.KeepLast = max(policy.KeepLast, 1)
	policy.KeepDays = min(max(policy.KeepDays, 0), 36500)
	p := pruning{now: now, policy: policy, newest: map[string]string{}}
	sorted := slices.SortedFunc(slices.Values(catalog.Backups), func(a, b Backup) int {
		if c := b.age().Compare(a.age()); c != 0 {
			return c
		}
		return strings.Compare(b.Name, a.Name)
	})
	if policy.Ended {
		sorted = slices.DeleteFunc(sorted, func(b Backup) bool { return b.Expires })
		if p.isOver(sorted) {
			p.policy.KeepLast = 1
		}
	}
	r := ranking{pruning: p, wanted: catalog.Wanted, methods: map[string]bool{}, in: map[string]int{}}
	for _, b := range sorted {
		r.add(b)
	}
	return p
}

// ranking ranks backups, the newest first.
type ranking struct {
	pruning

	wanted           []string
	good             int
	failed, verified bool
	methods          map[string]bool
	// in counts the successful ones in each place.
	in map[string]int
}

// add ranks the next backup.
func (r *ranking) add(b Backup) {
	switch {
	case b.failed() && r.policy.Ended:
		if r.good == 0 {
			r.rank(b, "no newer successful one is left")
		}
	case b.failed() && !r.failed:
		r.rank(b, "the newest failed one, for diagnosis")
		r.failed = true
	case b.good():
		r.addGood(b)
	case b.missing() && !r.methods[b.Method]:
		r.rank(b, "no newer successful one is left")
	case b.missing(): // A copy may be left.
		r.rankIn(r.in, b, r.wanted)
	}
}

// addGood ranks a successful backup.
func (r *ranking) addGood(b Backup) {
	r.good++
	if r.good == 1 {
		r.rank(b, "the newest successful one")
	}
	if b.Verified && !r.verified {
		r.rank(b, "the newest verified one")
		r.verified = true
	}
	if !r.methods[b.Method] {
		r.rank(b, "the newest successful one of its method")
		r.methods[b.Method] = true
	}
	if r.good <= r.policy.KeepLast {
		r.rank(b, fmt.Sprintf("one of the %d newest", r.policy.KeepLast))
	}
	r.rankIn(r.in, b, r.wanted)
}

// isOver reports whether the newest successful backup, if there is one, has passed its retention. Until then, backups that
// are made no more may begin again.
func (p pruning) isOver(sorted []Backup) bool {
	i := slices.IndexFunc(sorted, Backup.good)
	return i < 0 || p.now.After(p.expiry(sorted[i]))
}

// rankIn ranks a backup in each wanted place that it is in. In counts the newer successful ones there.
func (p pruning) rankIn(in map[string]int, b Backup, wanted []string) {
	for _, place := range wanted {
		if in[place] < p.policy.KeepLast && slices.Contains(b.Places, place) {
			if b.good() {
				in[place]++
			}
			p.rank(b, fmt.Sprintf("one of the %d newest in %s", p.policy.KeepLast, place))
		}
	}
}

// rank records that a backup is kept. If it is the newest of several kinds, the first is
// recorded.
func (p pruning) rank(b Backup, kind string) {
	if p.newest[b.Name] == "" {
		p.newest[b.Name] = kind
	}
}

// whyKept returns why a backup is kept, or an empty string if it may be deleted. The first
// row that applies decides:
//
//	pinned
//	neither completed, missing nor failed
//	its age is not known
//	the newest of a kind
//	not old enough
func (p pruning) whyKept(b Backup) string {
	switch {
	case b.Pinned != "":
		return b.Pinned
	case b.State != StateCompleted && b.State != StateFailed && b.State != StateMissing:
		return fmt.Sprintf("neither completed nor failed: %q", string(b.State))
	case !b.good() && !b.failed() && !b.missing():
		return "its age is unknown"
	case p.newest[b.Name] != "":
		return p.newest[b.Name]
	case b.failed() && p.policy.FailedAfter <= 0:
		return "failed ones are kept"
	case b.failed() && !p.now.After(p.expiry(b)):
		return fmt.Sprintf("failed no longer than %s ago", p.policy.FailedAfter)
	case !b.failed() && !p.now.After(p.expiry(b)):
		return fmt.Sprintf("not older than %d days", p.policy.KeepDays)
	}
	return ""
}

// expiry returns the end of a backup's retention. A day has 24 hours.
func (p pruning) expiry(b Backup) time.Time {
	if b.failed() {
		return b.age().Add(p.policy.FailedAfter)
	}
	return b.age().UTC().AddDate(0, 0, p.policy.KeepDays)
}

// whyDeleted returns why a backup is deleted.
func (p pruning) whyDeleted(b Backup) string {
	switch {
	case b.failed():
		return fmt.Sprintf("failed more than %s ago", p.policy.FailedAfter)
	case b.missing():
		return fmt.Sprintf("lost in the cloud and older than %d days", p.policy.KeepDays)
	case p.policy.Ended:
		return fmt.Sprintf("older than %d days, and no more backups are made", p.policy.KeepDays)
	}
	return fmt.Sprintf("older than %d days and not one of the %d newest", p.policy.KeepDays, p.policy.KeepLast)
}
