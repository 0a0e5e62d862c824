package ownership

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// The bounds of Record.Deleted.
const (
	MaxAge     = 30 * 24 * time.Hour
	MaxDeleted = 1000
)

// The keys of the ConfigMap.
const (
	keyHub     = "hub"
	keyEpoch   = "epoch"
	keyProcess = "process"
	keyDeleted = "deleted"
)

var errMalformed = errors.New("want a UID, maybe with a generation, and a time")

// Record represents the ConfigMap. The zero value represents a member without the ConfigMap.
type Record struct {
	// Hub is the UID of the hub's namespace kube-system.
	Hub string
	// Epoch is the number of times that a process of the hub took over.
	Epoch int64
	// Process is the random ID of the process that took over last; empty if it wrote none.
	Process string
	// Deleted are the applications that were deleted on the hub, or left the member, the
	// oldest first.
	Deleted []Deletion
}

// Deletion is the deletion of an application, or of its copy in the member alone.
type Deletion struct {
	App types.UID
	// Left is the generation at which the application left the member; 0 if it was deleted.
	Left int64
	// At is the time of the deletion on the hub, in seconds. It tells it from another deletion
	// of an application that was created again from a backup.
	At time.Time
}

// Parse reads the data of the ConfigMap.
func Parse(data map[string]string) (Record, error) {
	r := Record{Hub: data[keyHub], Process: data[keyProcess]}
	if text := data[keyEpoch]; text != "" {
		var err error
		if r.Epoch, err = strconv.ParseInt(text, 10, 64); err != nil {
			return Record{}, fmt.Errorf("reading key %q: %w", keyEpoch, err)
		}
	}
	for line := range strings.Lines(data[keyDeleted]) {
		d, err := parseDeletion(strings.TrimSpace(line))
		if err != nil {
			return Record{}, fmt.Errorf("reading key %q: %w", keyDeleted, err)
		}
		r.Deleted = append(r.Deleted, d)
	}
	return r, nil
}

// parseDeletion reads a UID, a slash and a generation if the application only left the member,
// a space, and a time.
func parseDeletion(line string) (Deletion, error) {
	origin, text, ok := strings.Cut(line, " ")
	at, err := time.Parse(time.RFC3339, text)
	if !ok || err != nil {
		return Deletion{}, errMalformed
	}
	uid, generation, left := strings.Cut(origin, "/")
	d := Deletion{App: types.UID(uid), At: at}
	if left {
		if d.Left, err = strconv.ParseInt(generation, 10, 64); err != nil {
			return Deletion{}, errMalformed
		}
	}
	return d, nil
}

// origin returns what parseDeletion reads before the space.
func (d Deletion) origin() string {
	if d.Left == 0 {
		return string(d.App)
	}
	return string(d.App) + "/" + strconv.FormatInt(d.Left, 10)
}

// Data returns the data of the ConfigMap.
func (r Record) Data() map[string]string {
	var deleted strings.Builder
	for _, d := range r.Deleted {
		_, _ = fmt.Fprintf(&deleted, "%s %s\n", d.origin(), d.At.UTC().Format(time.RFC3339))
	}
	return map[string]string{
		keyHub: r.Hub, keyEpoch: strconv.FormatInt(r.Epoch, 10), keyProcess: r.Process, keyDeleted: deleted.String(),
	}
}

// Standing is the relation of a process to a record.
type Standing string

// The standings.
const (
	// Unclaimed means that the process has yet to take over.
	Unclaimed Standing = "Unclaimed"
	// Current means that the process manages the member.
	Current Standing = "Current"
	// Superseded means that a later process of the same hub took over.
	Superseded Standing = "Superseded"
	// Foreign means that another hub manages the member.
	Foreign Standing = "Foreign"
)

// ID returns the UID of the hub, a slash, and the epoch.
func (r Record) ID() string { return r.Hub + "/" + strconv.FormatInt(r.Epoch, 10) }

// Process is a process of a hub in relation to a record.
type Process struct {
	// Hub is the UID of the hub.
	Hub string
	// ID is the random ID of the process, by which it knows a claim whose response was lost.
	ID string
	// Epoch is the one that the process claimed, or 0 if it knows of none.
	Epoch int64
	// Replaces is the ID of the record of another hub that a user lets this one replace.
	// Empty for none. It does not count for a record that was claimed again.
	Replaces string
}

// Check returns the standing of a process.
func (r Record) Check(p Process) Standing {
	foreign := r.Hub != p.Hub
	if r.Hub == "" {
		foreign = r.lostHub(p)
	}
	switch {
	case foreign && r.ID() == p.Replaces:
		return Unclaimed
	case foreign:
		return Foreign
	case r.Hub == "", p.Epoch == 0, r.Epoch < p.Epoch: // A record that was deleted is claimed again.
		return Unclaimed
	case r.Process != "" && r.Process == p.ID, r.Process == "" && r.Epoch == p.Epoch:
		return Current
	default:
		return Superseded
	}
}

// lostHub reports whether a record without a hub lost it by an edit, unless it is the one that a
// process claimed. Any other process, also of that hub, cannot know whose it was.
func (r Record) lostHub(p Process) bool {
	if r.Process == "" {
		return r.Epoch > p.Epoch
	}
	return r.Process != p.ID
}

// Claim returns the record after a takeover by a process. The new epoch is later than the
// epoch of the record and the epoch that the process claimed before.
func (r Record) Claim(p Process, now time.Time) Record {
	next := Record{Hub: p.Hub, Epoch: max(r.Epoch, p.Epoch) + 1, Process: p.ID, Deleted: r.Deleted}
	next.Deleted = next.bounded(now)
	return next
}

// DeletedAt returns the time at which an application was deleted; zero if it was not.
func (r Record) DeletedAt(app types.UID) time.Time {
	i := slices.IndexFunc(r.Deleted, func(d Deletion) bool { return d.App == app && d.Left == 0 })
	if i < 0 {
		return time.Time{}
	}
	return r.Deleted[i].At
}

// Left returns the generation at which an application left the member last; 0 if it did not.
func (r Record) Left(app types.UID) int64 {
	var last int64
	for _, d := range r.Deleted {
		if d.App == app {
			last = max(last, d.Left)
		}
	}
	return last
}

// Includes reports whether the record has a deletion, or that the application left the member
// by this generation or a later one.
func (r Record) Includes(d Deletion) bool {
	if d.Left > 0 {
		return r.Left(d.App) >= d.Left
	}
	return r.DeletedAt(d.App).Equal(d.At.Truncate(time.Second))
}

// Delete returns the record with a deletion that it does not contain yet. The deletion replaces
// earlier ones of the application. A deletion because the application left the
// member does not replace a deletion of the application.
func (r Record) Delete(d Deletion) Record {
	d.At = d.At.Truncate(time.Second)
	r.Deleted = slices.DeleteFunc(slices.Clone(r.Deleted), func(other Deletion) bool {
		return other.App == d.App && (d.Left == 0 || other.Left > 0)
	})
	r.Deleted = append(r.Deleted, d)
	r.Deleted = r.bounded(d.At)
	return r
}

// Forget returns the record without the deletion of an application at a time, and without its
// leaving the member by a generation or earlier ones. Other deletions of it stay.
func (r Record) Forget(former Deletion) Record {
	r.Deleted = slices.DeleteFunc(slices.Clone(r.Deleted), func(d Deletion) bool {
		return d.App == former.App && (d.Left == 0 && d.At.Equal(former.At) || d.Left > 0 && d.Left <= former.Left)
	})
	return r
}

// Restore returns the record with the known deletions that it lost by an edit, and whether it
// lost any.
func (r Record) Restore(known []Deletion, now time.Time) (Record, bool) {
	same := func(a, b Deletion) bool { return a.App == b.App && a.Left == b.Left && a.At.Equal(b.At) }
	if slices.EqualFunc(known, r.Deleted, same) {
		return r, false
	}
	next := r
	next.Deleted = nil
	byTime := func(a, b Deletion) int { return a.At.Compare(b.At) }
	for _, d := range slices.SortedStableFunc(slices.Values(slices.Concat(known, r.Deleted)), byTime) {
		next = next.Delete(d)
	}
	next.Deleted = next.bounded(now)
	if !slices.ContainsFunc(next.Deleted, func(d Deletion) bool { return !r.Includes(d) }) {
		return r, false
	}
	return next, true
}

// bounded returns the deletions within the bounds. Of too many, those go first by which an
// application only left the member.
func (r Record) bounded(now time.Time) []Deletion {
	kept := slices.DeleteFunc(slices.Clone(r.Deleted), func(d Deletion) bool { return now.Sub(d.At) > MaxAge })
	excess := len(kept) - MaxDeleted
	kept = slices.DeleteFunc(kept, func(d Deletion) bool {
		if d.Left == 0 || excess <= 0 {
			return false
		}
		excess--
		return true
	})
	return kept[max(0, len(kept)-MaxDeleted):]
}
