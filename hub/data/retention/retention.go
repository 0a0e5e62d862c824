package retention

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// MaxClockSkew is the clock difference above which no decision is based on age.
const MaxClockSkew = 5 * time.Minute

// The defaults of v1.Retention, and limits that the API does not have.
const (
	DefaultKeepLast     = 7
	DefaultKeepDays     = 30
	DefaultMaxDeletions = 10
	DefaultFailedAfter  = 7 * 24 * time.Hour
)

// State is the progress of a backup. Backups in a state that is not listed here are never
// deleted.
type State string

// The states of a backup.
const (
	StateInProgress State = "InProgress"
	// StateTaken means that the snapshot exists and its data is still being transferred.
	StateTaken     State = "Taken"
	StateCompleted State = "Completed"
	StateFailed    State = "Failed"
	StateDeleting  State = "Deleting"
	// StateMissing means that the cloud does not have the snapshot any more. The backup replaces no
	// other, and is deleted when it is as old as others that are, once a newer good one is left.
	StateMissing State = "Missing"
)

// Backup is the part of a backup that retention considers.
type Backup struct {
	// Name is unique in the catalog.
	Name string
	// TakenAt is the snapshot time; zero if there is none.
	TakenAt time.Time
	// CreatedAt is when the backup was requested. It determines the age of a failed
	// backup.
	CreatedAt time.Time
	State     State
	// Pinned describes why the backup must not be deleted now, for example "being restored
	// by r1"; empty if it may.
	Pinned string
	// Verified is true if a restore of the backup was verified.
	Verified bool
	// Account is the CloudAccount that holds the data; empty if there is no data.
	Account string
	// Method is how the backup was made. Methods do not replace each other: a snapshot can
	// be restored in its own cloud only.
	Method string
	// Places holds the regions that have the backup, or the bucket: without those where a copy failed.
	Places []string
	// Expires means that a Policy that has Ended keeps the backup no longer than KeepDays, also as the newest.
	Expires bool
}

// Catalog is the list of all backups of one application's copy in one cluster.
type Catalog struct {
	Backups []Backup
	// Wanted holds the places that each backup should also be in. KeepLast counts in each of them,
	// so that a backup that is missing in one causes no deletion of an older one that is there.
	Wanted []string
	// Skews is how far the clock of each account's provider is ahead of the hub's;
	// negative if behind. Backups in an account without an entry are not deleted.
	Skews map[string]time.Duration
}

// Policy determines how long backups are kept. The zero Policy deletes nothing.
type Policy struct {
	// KeepLast is the number of newest successful backups to keep; values below 1 count as
	// 1.
	KeepLast int
	// KeepDays is the number of days for which every successful backup is kept, clamped to
	// 0..36500.
	KeepDays int
	// MaxDeletions is the maximum number of deletions in one result; 0 or less means none.
	MaxDeletions int
	// FailedAfter is the age at which failed backups are deleted; 0 or less means never.
	FailedAfter time.Duration
	// Ended means that no more backups are made: KeepLast counts as 1 once the newest successful one is
	// older than KeepDays, and a failed one is kept only while no newer successful one is left. Backups that
	// expire are kept for none of these reasons, and replace no others.
	Ended bool
}

// PolicyOf returns the policy of a spec, with defaults for omitted fields.
func PolicyOf(r v1.Retention) Policy {
	p := Policy{
		KeepLast: DefaultKeepLast, KeepDays: DefaultKeepDays,
		MaxDeletions: DefaultMaxDeletions, FailedAfter: DefaultFailedAfter,
	}
	if r.KeepLast != nil {
		p.KeepLast = int(*r.KeepLast)
	}
	if r.KeepDays != nil {
		p.KeepDays = int(*r.KeepDays)
	}
	return p
}

// Decision is the decision about one backup.
type Decision struct {
	Name string
	// Reason is the reason: one line without times, so that it is the same as long as the
	// decision is.
	Reason string
}

// Result is the decision about all backups. Keep and Delete together contain each entry of
// the catalog once.
type Result struct {
	// Keep is sorted by name.
	Keep []Decision
	// Delete is in the order of deletion: the longest expired first.
	Delete []Decision
	// Blocked describes why nothing may be deleted; empty if deletions are possible.
	Blocked string
	// Postponed describes why an expired backup is not deleted; empty if none is. It does
	// not cover backups beyond MaxDeletions.
	Postponed string
}

// Prune decides which backups to delete. A successful backup is deleted when it is older
// than KeepDays and not one of the KeepLast newest, one that is missing when it is older than
// KeepDays and a newer successful one of its method is left, a failed one when it is older than
// FailedAfter. The order of the catalog does not matter. As time advances and nothing
// else changes, a backup that one result deletes is deleted by every later result; with
// Policy.Ended it may have to wait for others that expired earlier.
func Prune(now time.Time, catalog Catalog, policy Policy) Result {
	p := newPruning(now, catalog, policy)
	result := Result{Blocked: catalog.whyBlocked(now)}
	var due []expired
	for _, b := range catalog.Backups {
		if reason := p.whyKept(b); reason != "" {
			result.Keep = append(result.Keep, Decision{b.Name, reason})
			continue
		}
		due = append(due, expired{Decision{b.Name, p.whyDeleted(b)}, p.expiry(b), catalog.ageUnknown(b)})
	}
	slices.SortFunc(due, func(a, b expired) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	for _, e := range due {
		postponed := cmp.Or(result.Blocked, e.postponed)
		result.Postponed = cmp.Or(result.Postponed, postponed)
		switch {
		case postponed != "":
			result.Keep = append(result.Keep, Decision{e.Name, "not deleted now: " + postponed})
		case len(result.Delete) >= policy.MaxDeletions:
			result.Keep = append(result.Keep, Decision{e.Name, fmt.Sprintf("expired; deleted later, since at most %d are deleted at a time", max(policy.MaxDeletions, 0))})
		default:
			result.Delete = append(result.Delete, e.Decision)
		}
	}
	slices.SortFunc(result.Keep, func(a, b Decision) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Reason, b.Reason)
	})
	return result
}

// expired is a backup that may be deleted, and since when.
type expired struct {
	Decision
	at time.Time
	// postponed is why the age of one backup cannot be trusted, or an empty string.
	postponed string
}

// ageUnknown returns why the age of one backup cannot be trusted, or an empty string.
func (c Catalog) ageUnknown(b Backup) string {
	if _, known := c.Skews[b.Account]; b.Account != "" && !known {
		return fmt.Sprintf("the clock skew of the CloudAccount %q is unknown", b.Account)
	}
	return ""
}

// whyBlocked returns why ages or names in the catalog cannot be trusted, or an empty
// string.
func (c Catalog) whyBlocked(now time.Time) string {
	sorted := slices.SortedFunc(slices.Values(c.Backups), func(a, b Backup) int { return strings.Compare(a.Name, b.Name) })
	for n, b := range sorted {
		if n > 0 && sorted[n-1].Name == b.Name {
			return fmt.Sprintf("two backups are named %q", b.Name)
		}
		if b.Account != "" && c.Skews[b.Account].Abs() > MaxClockSkew {
			return fmt.Sprintf("the clocks of the hub and of the CloudAccount %q differ by more than %s", b.Account, MaxClockSkew)
		}
		if b.good() && b.TakenAt.After(now.Add(MaxClockSkew)) {
			return fmt.Sprintf("the backup %q has a snapshot time in the future: a clock is or was wrong", b.Name)
		}
	}
	return ""
}

// good reports whether the backup can be restored and its age is known.
func (b Backup) good() bool { return b.State == StateCompleted && !b.TakenAt.IsZero() }

// failed reports whether the backup failed, and its age is known.
func (b Backup) failed() bool { return b.State == StateFailed && !b.age().IsZero() }

// missing reports whether the backup was lost in the cloud, and its age is known.
func (b Backup) missing() bool { return b.State == StateMissing && !b.TakenAt.IsZero() }

// age returns the time from which the age counts: the snapshot time of a successful
// backup.
func (b Backup) age() time.Time {
	if b.State == StateFailed && !b.CreatedAt.IsZero() {
		return b.CreatedAt
	}
	return b.TakenAt
}
