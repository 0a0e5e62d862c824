package record

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
	keyDeleted = "deleted"
)

var errMalformed = errors.New("want a UID and a time")

// Record represents the ConfigMap. The zero value is that of a member without one.
type Record struct {
	// Hub is the UID of the hub's namespace kube-system.
	Hub string
	// Epoch is the number of times that a process of the hub took over.
	Epoch int64
	// Deleted are the applications that were deleted on the hub, the oldest first.
	Deleted []Deletion
}

// Deletion is the deletion of an application.
type Deletion struct {
	App types.UID
	At  time.Time // in seconds
}

// Parse reads the data of the ConfigMap.
func Parse(data map[string]string) (Record, error) {
	r := Record{Hub: data[keyHub]}
	if text := data[keyEpoch]; text != "" {
		var err error
		if r.Epoch, err = strconv.ParseInt(text, 10, 64); err != nil {
			return Record{}, fmt.Errorf("reading key %q: %w", keyEpoch, err)
		}
	}
	for line := range strings.Lines(data[keyDeleted]) {
		uid, text, ok := strings.Cut(strings.TrimSpace(line), " ")
		at, err := time.Parse(time.RFC3339, text)
		if !ok || err != nil {
			return Record{}, fmt.Errorf("reading key %q: %w", keyDeleted, errMalformed)
		}
		r.Deleted = append(r.Deleted, Deletion{App: types.UID(uid), At: at})
	}
	return r, nil
}

// Data returns the data of the ConfigMap.
func (r Record) Data() map[string]string {
	var deleted strings.Builder
	for _, d := range r.Deleted {
		_, _ = fmt.Fprintf(&deleted, "%s %s\n", d.App, d.At.UTC().Format(time.RFC3339))
	}
	return map[string]string{keyHub: r.Hub, keyEpoch: strconv.FormatInt(r.Epoch, 10), keyDeleted: deleted.String()}
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

// Check returns the standing of a process of a hub. The epoch is the one that the process
// claimed, or 0 if it claimed none.
func (r Record) Check(hub string, epoch int64) Standing {
	switch {
	case r.Hub != "" && r.Hub != hub:
		return Foreign
	case epoch == 0, r.Epoch < epoch: // A record that was deleted is claimed again.
		return Unclaimed
	case r.Epoch > epoch:
		return Superseded
	default:
		return Current
	}
}

// Claim returns the record after a takeover by a process of a hub. The new epoch is later
// than that of the record and the given one.
func (r Record) Claim(hub string, epoch int64, now time.Time) Record {
	next := Record{Hub: hub, Epoch: max(r.Epoch, epoch) + 1, Deleted: r.Deleted}
	next.Deleted = next.bounded(now)
	return next
}

// Has reports whether an application was deleted.
func (r Record) Has(app types.UID) bool {
	return slices.ContainsFunc(r.Deleted, func(d Deletion) bool { return d.App == app })
}

// Delete returns the record after the deletion of an application, which it does not have
// yet.
func (r Record) Delete(app types.UID, now time.Time) Record {
	r.Deleted = append(slices.Clone(r.Deleted), Deletion{App: app, At: now.Truncate(time.Second)})
	r.Deleted = r.bounded(now)
	return r
}

// bounded returns the deletions within the bounds.
func (r Record) bounded(now time.Time) []Deletion {
	kept := slices.DeleteFunc(slices.Clone(r.Deleted), func(d Deletion) bool { return now.Sub(d.At) > MaxAge })
	return kept[max(0, len(kept)-MaxDeleted):]
}
