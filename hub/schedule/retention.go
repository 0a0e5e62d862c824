package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// MaxClockSkew is how far two clocks may differ before nothing is decided by age.
const MaxClockSkew = 5 * time.Minute

// The defaults of v1.Retention, and what it does not say.
const (
	DefaultKeepLast     = 7
	DefaultKeepDays     = 30
	DefaultMaxDeletions = 10
	DefaultFailedAfter  = 7 * 24 * time.Hour
)

// State is how far a backup is. One that is not listed here is never deleted.
type State string

// The states of a backup.
const (
	StatePending    State = "Pending"
	StateInProgress State = "InProgress"
	// StateTaken means that the point in time is fixed and the data still travels.
	StateTaken     State = "Taken"
	StateCompleted State = "Completed"
	StateFailed    State = "Failed"
	StateDeleting  State = "Deleting"
)

// Backup is a backup, as far as retention cares.
type Backup struct {
	// Name is unique in the inventory.
	Name string
	// TakenAt is the point in time that it holds; zero if it has none.
	TakenAt time.Time
	// CreatedAt is when it was asked for: the age of a failed one.
	CreatedAt time.Time
	State     State
	// Pinned says why it cannot go now, for example "being restored by r1"; empty if it can.
	Pinned string
	// Foreign says that it is somebody else's, or lost what shows that it is ours.
	Foreign bool
	// Verified says that it was restored once, and what came of it was good.
	Verified bool
	// Locked says that the provider or a person forbids its deletion.
	Locked bool
	// Account is the CloudAccount that has its data; empty if none has.
	Account string
	// Method is how it was made. One method does not stand in for another: a
	// snapshot is of use in its own cloud alone.
	Method string
}

// Inventory is all backups of one application's copy in one cluster.
type Inventory struct {
	Backups []Backup
	// Complete says that every page of every list was read.
	Complete bool
	// Skews is how far the clock of each account's provider is ahead of the hub's; negative:
	// behind. What is in an account without an entry is not deleted.
	Skews map[string]time.Duration
}

// Policy is how long backups are kept. The zero Policy deletes nothing.
type Policy struct {
	// KeepLast is how many of the newest good ones are kept; less than 1 is 1.
	KeepLast int
	// KeepDays is for how many days every good one is kept, 0 to 36500; beyond, the nearest.
	KeepDays int
	// MaxDeletions is how many one plan deletes at most; 0 or less: none.
	MaxDeletions int
	// FailedAfter is when failed ones go; 0 or less: never.
	FailedAfter time.Duration
}

// PolicyOf returns what a spec asks for, with the defaults for what it leaves out.
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

// Verdict is what becomes of one backup.
type RetentionDecision struct {
	Name string
	// Why is one line without times, so that it is the same as long as the verdict is.
	Why string
}

// Plan is what becomes of all backups. Keep and Delete together have one verdict
// for each entry of the inventory.
type Plan struct {
	// Keep is sorted by name.
	Keep []RetentionDecision
	// Delete is in the order in which to delete: what is due the longest comes first.
	Delete []RetentionDecision
	// Blocked says why nothing is deleted whatever its age; empty if nothing stands in the way.
	Blocked string
	// Held says why a backup that is due is not deleted; empty if none is held. Those beyond
	// MaxDeletions are not.
	Held string
}

// Prune returns which backups to delete. A good one goes when it is older than
// KeepDays and not one of the KeepLast newest, a failed one when it is older than
// FailedAfter. The order of the inventory does not matter. As now advances, and
// nothing else changes, what a plan deletes every later one deletes too.
func Prune(now time.Time, inventory Inventory, policy Policy) Plan {
	p := newPruning(now, inventory, policy)
	plan := Plan{Blocked: inventory.blocked(now)}
	var due []expired
	for _, b := range inventory.Backups {
		if why := p.keep(b); why != "" {
			plan.Keep = append(plan.Keep, RetentionDecision{b.Name, why})
			continue
		}
		due = append(due, expired{RetentionDecision{b.Name, p.why(b)}, p.expiry(b), inventory.held(b)})
	}
	slices.SortFunc(due, func(a, b expired) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	for _, e := range due {
		held := cmp.Or(plan.Blocked, e.held)
		plan.Held = cmp.Or(plan.Held, held)
		switch {
		case held != "":
			plan.Keep = append(plan.Keep, RetentionDecision{e.Name, "not deleted now: " + held})
		case len(plan.Delete) >= policy.MaxDeletions:
			plan.Keep = append(plan.Keep, RetentionDecision{e.Name, fmt.Sprintf("goes later: no more than %d are deleted at once", max(policy.MaxDeletions, 0))})
		default:
			plan.Delete = append(plan.Delete, e.RetentionDecision)
		}
	}
	slices.SortFunc(plan.Keep, func(a, b RetentionDecision) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Why, b.Why)
	})
	return plan
}

// expired is a backup that may go, and since when.
type expired struct {
	RetentionDecision
	at time.Time
	// held says why it is not deleted now.
	held string
}

// held returns why the age of a backup of its own cannot be trusted.
func (i Inventory) held(b Backup) string {
	if _, known := i.Skews[b.Account]; b.Account != "" && !known {
		return fmt.Sprintf("the clock of the CloudAccount %q is not known", b.Account)
	}
	return ""
}

// blocked tells why ages or names in the inventory cannot be trusted.
func (i Inventory) blocked(now time.Time) string {
	if !i.Complete {
		return "the list of backups is not complete"
	}
	sorted := slices.SortedFunc(slices.Values(i.Backups), func(a, b Backup) int { return strings.Compare(a.Name, b.Name) })
	for n, b := range sorted {
		if n > 0 && sorted[n-1].Name == b.Name {
			return fmt.Sprintf("two backups are named %q", b.Name)
		}
		if b.Account != "" && i.Skews[b.Account].Abs() > MaxClockSkew {
			return fmt.Sprintf("the clocks of the hub and of the CloudAccount %q differ by more than %s", b.Account, MaxClockSkew)
		}
		if b.good() && b.TakenAt.After(now.Add(MaxClockSkew)) {
			return fmt.Sprintf("the backup %q is from the future, so a clock is or was wrong", b.Name)
		}
	}
	return ""
}

// good tells whether the data could come back from a backup of known age.
func (b Backup) good() bool { return b.State == StateCompleted && !b.Foreign && !b.TakenAt.IsZero() }

// failed tells whether a backup of ours of known age failed.
func (b Backup) failed() bool { return b.State == StateFailed && !b.Foreign && !b.age().IsZero() }

// age returns from when the age of a backup counts: for a good one it is that of its data.
func (b Backup) age() time.Time {
	if b.State == StateFailed && !b.CreatedAt.IsZero() {
		return b.CreatedAt
	}
	return b.TakenAt
}
