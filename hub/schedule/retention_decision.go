package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// pruning is what the verdict on one backup depends on besides that backup.
type pruning struct {
	now    time.Time
	policy Policy
	// newest are the names of backups that are kept for being the newest of a kind,
	// each with the kind.
	newest map[string]string
}

// newPruning ranks the backups. A foreign one is no reason to delete one of ours,
// so it has no rank; one that is pinned or locked is as good as any other.
func newPruning(now time.Time, inventory Inventory, policy Policy) pruning {
	policy.KeepLast = max(policy.KeepLast, 1)
	policy.KeepDays = min(max(policy.KeepDays, 0), 36500)
	p := pruning{now: now, policy: policy, newest: map[string]string{}}
	sorted := slices.SortedFunc(slices.Values(inventory.Backups), func(a, b Backup) int {
		if c := b.age().Compare(a.age()); c != 0 {
			return c
		}
		return strings.Compare(b.Name, a.Name)
	})
	var (
		good             int
		failed, verified bool
		methods          = map[string]bool{}
	)
	for _, b := range sorted {
		switch {
		case b.failed() && !failed:
			p.rank(b, "the newest failed one, for what it says")
			failed = true
		case b.good():
			good++
			if good == 1 {
				p.rank(b, "the newest good one")
			}
			if b.Verified && !verified {
				p.rank(b, "the newest one that was verified")
				verified = true
			}
			if !methods[b.Method] {
				p.rank(b, "the newest good one of its method")
				methods[b.Method] = true
			}
			if good <= policy.KeepLast {
				p.rank(b, fmt.Sprintf("one of the %d newest", policy.KeepLast))
			}
		}
	}
	return p
}

// rank keeps a backup. The first kind that it is the newest of is the one to name.
func (p pruning) rank(b Backup, kind string) {
	if p.newest[b.Name] == "" {
		p.newest[b.Name] = kind
	}
}

// keep returns why a backup is kept, or nothing if it may go. The first that applies:
//
//	somebody else's
//	pinned
//	locked
//	neither completed nor failed
//	its age is not known
//	the newest of a kind
//	not old enough
func (p pruning) keep(b Backup) string {
	switch {
	case b.Foreign:
		return "not ours, or it lost the tags that say so"
	case b.Pinned != "":
		return b.Pinned
	case b.Locked:
		return "locked against deletion"
	case b.State != StateCompleted && b.State != StateFailed:
		return fmt.Sprintf("neither completed nor failed: %q", string(b.State))
	case !b.good() && !b.failed():
		return "its age is not known"
	case p.newest[b.Name] != "":
		return p.newest[b.Name]
	case b.failed() && p.policy.FailedAfter <= 0:
		return "failed ones are kept"
	case b.failed() && !p.now.After(p.expiry(b)):
		return fmt.Sprintf("failed no longer than %s ago", p.policy.FailedAfter)
	case b.good() && !p.now.After(p.expiry(b)):
		return fmt.Sprintf("not older than %d days", p.policy.KeepDays)
	}
	return ""
}

// expiry returns until when a backup is kept for its age. A day is 24 hours.
func (p pruning) expiry(b Backup) time.Time {
	if b.failed() {
		return b.age().Add(p.policy.FailedAfter)
	}
	return b.age().UTC().AddDate(0, 0, p.policy.KeepDays)
}

// why tells why a backup goes.
func (p pruning) why(b Backup) string {
	if b.failed() {
		return fmt.Sprintf("failed more than %s ago", p.policy.FailedAfter)
	}
	return fmt.Sprintf("older than %d days and not one of the %d newest", p.policy.KeepDays, p.policy.KeepLast)
}
