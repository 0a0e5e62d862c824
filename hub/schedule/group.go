package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Progress is how far one snapshot of a group is. The values are those of the
// cloud's states and two more; an unknown one counts as ProgressCreating.
type Progress string

// The progress of a snapshot.
const (
	// ProgressNone means that nobody has asked for it yet. Where a request was sent
	// and its answer lost it is ProgressCreating, so that it is not forgotten.
	ProgressNone Progress = ""
	// ProgressCreating means that the point in time is not fixed yet.
	ProgressCreating Progress = "Creating"
	// ProgressCut means that the point in time is fixed and the data still travels.
	ProgressCut Progress = "Cut"
	// ProgressReady means that it can be used.
	ProgressReady Progress = "Ready"
	// ProgressFailed means that it failed for good: no other attempt is made.
	ProgressFailed Progress = "Failed"
	// ProgressDeleting means that it is going.
	ProgressDeleting Progress = "Deleting"
	// ProgressGone means that it was there and is not any more.
	ProgressGone Progress = "Gone"
)

// Snapshot is one of the snapshots of a backup.
type Snapshot struct {
	// Name is unique in the group: the claim's, or the snapshot's own.
	Name     string
	Progress Progress
	// Message is what the provider said, if it failed.
	Message string
}

// Terms are what a group is held to.
type Terms struct {
	// Now is the time.
	Now time.Time
	// CutBy is until when the point in time of all must be fixed, and ReadyBy until
	// when all must be usable; zero: whenever.
	CutBy, ReadyBy time.Time
	// Failed is the message of an earlier outcome that was StateFailed, which is
	// never taken back; empty if there was none.
	Failed string
}

// Outcome is what becomes of a group.
type Outcome struct {
	// State is StatePending, StateInProgress, StateCut, StateCompleted or StateFailed.
	State State
	// Release says that the database may write again, or must although not all is
	// cut. It is said again each time: releasing twice does nothing.
	Release bool
	// Delete names the snapshots to delete, sorted. Deleting goes on until each is gone.
	Delete []string
	// Track names those of a group that was given up which stay, sorted: the provider
	// still works on them, or nobody knows. They go when the failed backup does.
	Track []string
	// Message says why it failed; empty otherwise.
	Message string
}

// Group decides on the snapshots of one backup, which are good together or not at
// all. The first row that applies decides:
//
//	nothing to cut                        Failed
//	one failed, is going or is gone       Failed, and all others are deleted
//	it failed before                      Failed as before, what is there is tracked
//	all ready                             Completed
//	not all cut and CutBy is over         Failed, what is there is tracked
//	not all ready and ReadyBy is over     Failed, what is there is tracked
//	all cut                               Cut: the database may write again
//	none asked for                        Pending
//	otherwise                             InProgress
//
// The order of the snapshots does not matter.
func Group(snapshots []Snapshot, terms Terms) Outcome {
	g := slices.Clone(snapshots)
	slices.SortFunc(g, func(a, b Snapshot) int { return strings.Compare(a.Name, b.Name) })
	all := func(progress ...Progress) bool {
		return !slices.ContainsFunc(g, func(s Snapshot) bool { return !slices.Contains(progress, s.Progress) })
	}
	broken := slices.IndexFunc(g, Snapshot.broken)
	cut := all(ProgressCut, ProgressReady)
	switch {
	case len(g) == 0:
		return Outcome{State: StateFailed, Release: true, Message: firstOf(terms.Failed, "there is no volume to cut")}
	case broken >= 0:
		return Outcome{
			State: StateFailed, Release: true, Delete: names(g, Snapshot.deletable),
			Message: firstOf(terms.Failed, g[broken].complaint()),
		}
	case terms.Failed != "":
		return givenUp(g, terms.Failed)
	case all(ProgressReady):
		return Outcome{State: StateCompleted, Release: true}
	case !cut && over(terms.Now, terms.CutBy):
		return givenUp(g, "not cut in time: "+strings.Join(names(g, Snapshot.uncut), ", "))
	case over(terms.Now, terms.ReadyBy):
		return givenUp(g, "not ready in time: "+strings.Join(names(g, Snapshot.unready), ", "))
	case cut:
		return Outcome{State: StateCut, Release: true}
	case all(ProgressNone):
		return Outcome{State: StatePending}
	default:
		return Outcome{State: StateInProgress}
	}
}

// givenUp is the outcome of a group in which nothing is known to have failed:
// deleting what the provider still works on would fail or leave it behind.
func givenUp(g []Snapshot, message string) Outcome {
	return Outcome{State: StateFailed, Release: true, Track: names(g, Snapshot.there), Message: message}
}

// broken tells that a snapshot will never be ready.
func (s Snapshot) broken() bool {
	return s.Progress == ProgressFailed || s.Progress == ProgressDeleting || s.Progress == ProgressGone
}

// there tells that a snapshot was asked for and is not known to be gone.
func (s Snapshot) there() bool { return s.Progress != ProgressNone && s.Progress != ProgressGone }

// deletable tells that a snapshot is there and nobody deletes it yet.
func (s Snapshot) deletable() bool { return s.there() && s.Progress != ProgressDeleting }

func (s Snapshot) uncut() bool   { return s.Progress != ProgressCut && s.unready() }
func (s Snapshot) unready() bool { return s.Progress != ProgressReady }

func (s Snapshot) complaint() string {
	what := map[Progress]string{ProgressDeleting: "is being deleted", ProgressGone: "is gone"}[s.Progress]
	if what == "" {
		what = "failed"
	}
	if s.Message == "" {
		return fmt.Sprintf("the snapshot of %s %s", s.Name, what)
	}
	return fmt.Sprintf("the snapshot of %s %s: %s", s.Name, what, s.Message)
}

func names(g []Snapshot, which func(Snapshot) bool) []string {
	var out []string
	for _, s := range g {
		if which(s) {
			out = append(out, s.Name)
		}
	}
	return out
}

func over(now, deadline time.Time) bool { return !deadline.IsZero() && now.After(deadline) }

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
