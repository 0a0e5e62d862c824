package fake

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
)

// snapshots implements cloud.Snapshots.
type snapshots struct{ *memory }

// want describes the requested snapshot or copy.
type want struct {
	request
	// name is the name of the attempt.
	name   string
	tags   cloud.Tags
	isCopy bool
	// source and uid identify what the snapshot is made from; an empty uid is not
	// compared.
	source, uid string
	locations   []string
	maySend     bool
}

// attempted returns the name of an attempt.
func attempted(name string, attempt int) string {
	if attempt == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, attempt)
}

// EnsureSnapshot implements cloud.Snapshots.
func (m snapshots) EnsureSnapshot(ctx context.Context, spec cloud.SnapshotSpec) (cloud.Snapshot, error) {
	w := want{
		request: request{"EnsureSnapshot", faults.OpCreateSnapshot, spec.Name}, name: attempted(spec.Name, spec.Attempt), tags: spec.Tags,
		source: spec.Source.Handle, uid: spec.SourceUID, locations: spec.Locations, maySend: spec.MaySend,
	}
	if got, err := m.look(ctx, w); err != nil || got.Ref.ID != "" {
		return got, err
	}
	volume, err := m.volume(ctx, w.method, spec.Source)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	if w.uid != "" && w.uid != volume.UID {
		return cloud.Snapshot{}, m.fail(w.request, conflict(volume.ID, "is another volume with the same handle"))
	}
	w.uid = volume.UID
	return m.create(ctx, w, Snapshot{SizeBytes: volume.SizeBytes, Encrypted: volume.Encrypted, SourceUID: volume.UID})
}

// EnsureCopy implements cloud.Snapshots.
func (m snapshots) EnsureCopy(ctx context.Context, spec cloud.CopySpec) (cloud.Snapshot, error) {
	w := want{
		request: request{"EnsureCopy", faults.OpCopySnapshot, spec.Name}, name: attempted(spec.Name, spec.Attempt),
		tags: spec.Tags.With(cloud.Tags{cloud.TagCopyOf: spec.Source.ID}), isCopy: true, source: spec.Source.ID, maySend: spec.MaySend,
	}
	if m.Rules.Locations {
		return cloud.Snapshot{}, m.fail(w.request, &cloud.Error{Class: cloud.ClassUnsupported, Code: "Locations", Message: "snapshots are global"})
	}
	if got, err := m.look(ctx, w); err != nil || got.Ref.ID != "" {
		return got, err
	}
	source, err := m.get(ctx, w.method, spec.Source)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	if source.State != cloud.StateReady {
		return cloud.Snapshot{}, m.fail(w.request, &cloud.Error{Class: cloud.ClassTransient, Code: "NotReady", Message: fmt.Sprintf("%q is not ready", source.ID)})
	}
	return m.create(ctx, w, Snapshot{SizeBytes: source.SizeBytes, Encrypted: source.Encrypted})
}

// look returns the requested snapshot if it exists, and an empty one if it may be
// created.
func (m snapshots) look(ctx context.Context, w want) (cloud.Snapshot, error) {
	found, err := m.named(ctx, w)
	switch {
	case err != nil:
		return cloud.Snapshot{}, err
	case len(found) > 0:
		return m.adopt(w, found)
	case !w.maySend:
		return cloud.Snapshot{}, m.fail(w.request, notVisible(w.name))
	default:
		return cloud.Snapshot{}, nil
	}
}

// named returns the snapshots of a name, at most one where names are unique.
func (m snapshots) named(ctx context.Context, w want) ([]Snapshot, error) {
	if m.Rules.UniqueNames {
		found, err := m.get(ctx, w.method, cloud.SnapshotRef{Region: m.Region, ID: m.id(w.name)})
		if cloud.ClassOf(err) == cloud.ClassNotFound {
			return nil, nil
		}
		return []Snapshot{found}, err
	}
	var found []Snapshot
	for snapshot, err := range m.pages(ctx, w.method, cloud.Owner{Hub: w.tags[cloud.TagHub]}) {
		if err != nil {
			return nil, err
		}
		if snapshot.Tags[cloud.TagName] == w.name {
			found = append(found, snapshot)
		}
	}
	slices.SortFunc(found, func(a, b Snapshot) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return found, nil
}

// id returns the ID of a snapshot whose name is unique.
func (m snapshots) id(name string) string {
	if m.Rules.Locations {
		return fmt.Sprintf("memory/%s/snapshots/%s", m.Account, name)
	}
	return fmt.Sprintf("memory/%s/%s/snapshots/%s", m.Account, m.Region, name)
}

// adopt returns the oldest of the snapshots of a name, if it is the requested one.
func (m snapshots) adopt(w want, found []Snapshot) (cloud.Snapshot, error) {
	first := found[0]
	owner := cloud.Owner{Hub: w.tags[cloud.TagHub], App: w.tags[cloud.TagApp]}
	if first.Source != w.source || w.uid != "" && first.SourceUID != w.uid || first.IsCopy != w.isCopy || !owner.Owns(first.Tags) {
		return cloud.Snapshot{}, m.fail(w.request, conflict(w.name, "is the name of another snapshot"))
	}
	out := m.snapshot(first)
	for _, other := range found[1:] {
		if other.Source == first.Source {
			out.Duplicates = append(out.Duplicates, m.ref(other))
		}
	}
	return out, nil
}

// create sends the one request to create; s has the fields that depend on the source.
func (m snapshots) create(ctx context.Context, w want, s Snapshot) (cloud.Snapshot, error) {
	s.Account, s.Region, s.Source, s.IsCopy, s.Locations = m.Account, m.Region, w.source, w.isCopy, w.locations
	s.Tags = w.tags.With(cloud.Tags{cloud.TagName: w.name})
	if !w.isCopy {
		s.Tags[cloud.TagVolume] = w.uid
	}
	made, err := send(ctx, m.memory, w.request, func() (Snapshot, *cloud.Error) {
		if !m.Rules.UniqueNames {
			s.ID = fmt.Sprintf("snap-%08d", m.cloud.Serial())
			return m.cloud.AddSnapshot(s), nil
		}
		s.ID = m.id(w.name)
		there, added := m.cloud.NewSnapshot(s)
		if !added {
			return there, conflict(w.name, "exists")
		}
		return there, nil
	})
	if cloud.ClassOf(err) != cloud.ClassConflict {
		return m.snapshotOf(made, err)
	}
	// A concurrent request created it.
	found, err := m.named(ctx, w)
	if err == nil && len(found) == 0 {
		err = m.fail(w.request, notVisible(w.name))
	}
	if err != nil {
		return cloud.Snapshot{}, err
	}
	return m.adopt(w, found)
}

// GetSnapshot implements cloud.Snapshots.
func (m snapshots) GetSnapshot(ctx context.Context, ref cloud.SnapshotRef) (cloud.Snapshot, error) {
	return m.snapshotOf(m.get(ctx, "GetSnapshot", ref))
}

func (m snapshots) get(ctx context.Context, method string, ref cloud.SnapshotRef) (Snapshot, error) {
	return send(ctx, m.memory, request{method, faults.OpGetSnapshot, ref.ID}, func() (Snapshot, *cloud.Error) {
		found, ok := m.cloud.Snapshot(ref.ID)
		if !ok || found.Account != m.Account || !m.Rules.Locations && found.Region != ref.Region {
			return Snapshot{}, notFound("snapshot " + ref.ID)
		}
		return found, nil
	})
}

// ListSnapshots implements cloud.Snapshots.
func (m snapshots) ListSnapshots(ctx context.Context, owner cloud.Owner) iter.Seq2[cloud.Snapshot, error] {
	return func(yield func(cloud.Snapshot, error) bool) {
		for found, err := range m.pages(ctx, "ListSnapshots", owner) {
			if !yield(m.snapshotOf(found, err)) {
				return
			}
		}
	}
}

// pages returns all pages of a list. The next page begins after the last ID of this one,
// so that concurrent changes shift nothing.
func (m snapshots) pages(ctx context.Context, method string, owner cloud.Owner) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		for last, more := "", true; more; {
			page, err := send(ctx, m.memory, request{method, faults.OpListSnapshots, last}, func() ([]Snapshot, *cloud.Error) {
				return m.page(owner, last), nil
			})
			if err != nil {
				yield(Snapshot{}, err)
				return
			}
			for _, found := range page {
				last = found.ID
				if !yield(found, nil) {
					return
				}
			}
			more = m.Rules.PageSize > 0 && len(page) == m.Rules.PageSize
		}
	}
}

func (m snapshots) page(owner cloud.Owner, last string) []Snapshot {
	var page []Snapshot
	for _, s := range m.cloud.Visible() {
		if s.ID > last && s.Account == m.Account && (m.Rules.Locations || s.Region == m.Region) && owner.Owns(s.Tags) {
			page = append(page, s)
		}
		if m.Rules.PageSize > 0 && len(page) == m.Rules.PageSize {
			break
		}
	}
	return page
}

// DeleteSnapshot implements cloud.Snapshots.
func (m snapshots) DeleteSnapshot(ctx context.Context, ref cloud.SnapshotRef, owner cloud.Owner) error {
	r := request{"DeleteSnapshot", faults.OpDeleteSnapshot, ref.ID}
	found, err := m.get(ctx, r.method, ref)
	switch {
	case cloud.ClassOf(err) == cloud.ClassNotFound:
		return nil
	case err != nil:
		return err
	case !owner.Owns(found.Tags):
		return m.fail(r, foreign(ref.ID))
	}
	_, err = send(ctx, m.memory, r, func() (struct{}, *cloud.Error) {
		switch now, ok := m.cloud.Snapshot(ref.ID); {
		case ok && now.Locked:
			return struct{}{}, &cloud.Error{Class: cloud.ClassLocked, Code: "Locked", Message: "a lock prevents it"}
		case ok && now.Used:
			return struct{}{}, &cloud.Error{Class: cloud.ClassInUse, Code: "InUse", Message: "the snapshot is in use"}
		}
		m.cloud.RemoveSnapshot(ref.ID)
		return struct{}{}, nil
	})
	return err
}

func (m snapshots) ref(s Snapshot) cloud.SnapshotRef {
	if m.Rules.Locations {
		return cloud.SnapshotRef{Region: m.Region, ID: s.ID}
	}
	return cloud.SnapshotRef{Region: s.Region, ID: s.ID}
}

func (m snapshots) snapshotOf(s Snapshot, err error) (cloud.Snapshot, error) {
	if err != nil {
		return cloud.Snapshot{}, err
	}
	return m.snapshot(s), nil
}

// snapshot converts a snapshot of the fake to cloud.Snapshot.
func (m snapshots) snapshot(s Snapshot) cloud.Snapshot {
	out := cloud.Snapshot{
		Ref: m.ref(s), Name: s.Tags[cloud.TagName], State: s.State, TakenAt: s.Created, Progress: s.Progress, SizeBytes: s.SizeBytes,
		Encrypted: s.Encrypted, SourceHandle: s.Source, Locations: s.Locations, Tags: s.Tags, Message: s.Message, ObservedAt: m.cloud.Now(),
	}
	switch s.State {
	case cloud.StateTaken, cloud.StateReady, cloud.StateFailed, cloud.StateDeleting:
	default: // Its point in time is not fixed.
		out.State, out.TakenAt = cloud.StateCreating, time.Time{}
	}
	return out
}
