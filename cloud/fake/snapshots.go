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
func (s snapshots) EnsureSnapshot(ctx context.Context, spec cloud.SnapshotSpec) (cloud.Snapshot, error) {
	w := want{
		request: request{"EnsureSnapshot", faults.OpCreateSnapshot, spec.Name}, name: attempted(spec.Name, spec.Attempt), tags: spec.Tags,
		source: spec.Source.Handle, uid: spec.SourceUID, locations: spec.Locations, maySend: spec.MaySend,
	}
	if got, err := s.look(ctx, w); err != nil || got.Ref.ID != "" {
		return got, err
	}
	volume, err := s.volume(ctx, w.method, spec.Source)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	if w.uid != "" && w.uid != volume.UID {
		return cloud.Snapshot{}, s.fail(w.request, conflict(volume.ID, "is another volume with the same handle"))
	}
	w.uid = volume.UID
	return s.create(ctx, w, Snapshot{SizeBytes: volume.SizeBytes, Encrypted: volume.Encrypted, SourceUID: volume.UID})
}

// EnsureCopy implements cloud.Snapshots.
func (s snapshots) EnsureCopy(ctx context.Context, spec cloud.CopySpec) (cloud.Snapshot, error) {
	w := want{
		request: request{"EnsureCopy", faults.OpCopySnapshot, spec.Name}, name: attempted(spec.Name, spec.Attempt),
		tags: spec.Tags.With(cloud.Tags{cloud.TagCopyOf: spec.Source.ID}), isCopy: true, source: spec.Source.ID, maySend: spec.MaySend,
	}
	if s.Rules.Locations {
		return cloud.Snapshot{}, s.fail(w.request, &cloud.Error{Class: cloud.ClassUnsupported, Code: "Locations", Message: "snapshots are global"})
	}
	if got, err := s.look(ctx, w); err != nil || got.Ref.ID != "" {
		return got, err
	}
	source, err := s.get(ctx, w.method, spec.Source)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	if source.State != cloud.StateReady {
		return cloud.Snapshot{}, s.fail(w.request, &cloud.Error{Class: cloud.ClassTransient, Code: "NotReady", Message: fmt.Sprintf("%q is not ready", source.ID)})
	}
	return s.create(ctx, w, Snapshot{SizeBytes: source.SizeBytes, Encrypted: source.Encrypted})
}

// look returns the requested snapshot if it exists, and an empty one if it may be
// created.
func (s snapshots) look(ctx context.Context, w want) (cloud.Snapshot, error) {
	found, err := s.named(ctx, w)
	switch {
	case err != nil:
		return cloud.Snapshot{}, err
	case len(found) > 0:
		return s.adopt(w, found)
	case !w.maySend:
		return cloud.Snapshot{}, s.fail(w.request, notVisible(w.name))
	default:
		return cloud.Snapshot{}, nil
	}
}

// named returns the snapshots of a name, at most one where names are unique.
func (s snapshots) named(ctx context.Context, w want) ([]Snapshot, error) {
	if s.Rules.UniqueNames {
		found, err := s.get(ctx, w.method, cloud.SnapshotRef{Region: s.Region, ID: s.id(w.name)})
		if cloud.ClassOf(err) == cloud.ClassNotFound {
			return nil, nil
		}
		return []Snapshot{found}, err
	}
	var found []Snapshot
	for snapshot, err := range s.pages(ctx, w.method, cloud.Owner{Hub: w.tags[cloud.TagHub]}) {
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
func (s snapshots) id(name string) string {
	if s.Rules.Locations {
		return fmt.Sprintf("memory/%s/snapshots/%s", s.Account, name)
	}
	return fmt.Sprintf("memory/%s/%s/snapshots/%s", s.Account, s.Region, name)
}

// adopt returns the oldest of the snapshots of a name, if it is the requested one.
func (s snapshots) adopt(w want, found []Snapshot) (cloud.Snapshot, error) {
	first := found[0]
	owner := cloud.Owner{Hub: w.tags[cloud.TagHub], App: w.tags[cloud.TagApp]}
	if first.Source != w.source || w.uid != "" && first.SourceUID != w.uid || first.IsCopy != w.isCopy || !owner.Owns(first.Tags) {
		return cloud.Snapshot{}, s.fail(w.request, conflict(w.name, "is the name of another snapshot"))
	}
	out := s.snapshot(first)
	for _, other := range found[1:] {
		if other.Source == first.Source {
			out.Duplicates = append(out.Duplicates, s.ref(other))
		}
	}
	return out, nil
}

// create sends the one request to create; s has the fields that depend on the source.
func (s snapshots) create(ctx context.Context, w want, snapshot Snapshot) (cloud.Snapshot, error) {
	snapshot.Account, snapshot.Region, snapshot.Source, snapshot.IsCopy, snapshot.Locations = s.Account, s.Region, w.source, w.isCopy, w.locations
	snapshot.Tags = w.tags.With(cloud.Tags{cloud.TagName: w.name})
	if !w.isCopy {
		snapshot.Tags[cloud.TagVolume] = w.uid
	}
	made, err := send(ctx, s.memory, w.request, func() (Snapshot, *cloud.Error) {
		if !s.Rules.UniqueNames {
			snapshot.ID = fmt.Sprintf("snap-%08d", s.cloud.Serial())
			return s.cloud.AddSnapshot(snapshot), nil
		}
		snapshot.ID = s.id(w.name)
		there, added := s.cloud.NewSnapshot(snapshot)
		if !added {
			return there, conflict(w.name, "exists")
		}
		return there, nil
	})
	if cloud.ClassOf(err) != cloud.ClassConflict {
		return s.snapshotOf(made, err)
	}
	// A concurrent request created it.
	found, err := s.named(ctx, w)
	if err == nil && len(found) == 0 {
		err = s.fail(w.request, notVisible(w.name))
	}
	if err != nil {
		return cloud.Snapshot{}, err
	}
	return s.adopt(w, found)
}

// GetSnapshot implements cloud.Snapshots.
func (s snapshots) GetSnapshot(ctx context.Context, ref cloud.SnapshotRef) (cloud.Snapshot, error) {
	return s.snapshotOf(s.get(ctx, "GetSnapshot", ref))
}

func (s snapshots) get(ctx context.Context, method string, ref cloud.SnapshotRef) (Snapshot, error) {
	return send(ctx, s.memory, request{method, faults.OpGetSnapshot, ref.ID}, func() (Snapshot, *cloud.Error) {
		found, ok := s.cloud.Snapshot(ref.ID)
		if !ok || found.Account != s.Account || !s.Rules.Locations && found.Region != ref.Region {
			return Snapshot{}, notFound("snapshot " + ref.ID)
		}
		return found, nil
	})
}

// ListSnapshots implements cloud.Snapshots.
func (s snapshots) ListSnapshots(ctx context.Context, owner cloud.Owner) iter.Seq2[cloud.Snapshot, error] {
	return func(yield func(cloud.Snapshot, error) bool) {
		for found, err := range s.pages(ctx, "ListSnapshots", owner) {
			if !yield(s.snapshotOf(found, err)) {
				return
			}
		}
	}
}

// pages returns all pages of a list. The next page begins after the last ID of this one,
// so that concurrent changes shift nothing.
func (s snapshots) pages(ctx context.Context, method string, owner cloud.Owner) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		for last, more := "", true; more; {
			page, err := send(ctx, s.memory, request{method, faults.OpListSnapshots, last}, func() ([]Snapshot, *cloud.Error) {
				return s.page(owner, last), nil
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
			more = s.Rules.PageSize > 0 && len(page) == s.Rules.PageSize
		}
	}
}

func (s snapshots) page(owner cloud.Owner, last string) []Snapshot {
	var page []Snapshot
	for _, snapshot := range s.cloud.Visible() {
		if snapshot.ID > last && snapshot.Account == s.Account && (s.Rules.Locations || snapshot.Region == s.Region) && owner.Owns(snapshot.Tags) {
			page = append(page, snapshot)
		}
		if s.Rules.PageSize > 0 && len(page) == s.Rules.PageSize {
			break
		}
	}
	return page
}

// DeleteSnapshot implements cloud.Snapshots.
func (s snapshots) DeleteSnapshot(ctx context.Context, ref cloud.SnapshotRef, owner cloud.Owner) error {
	r := request{"DeleteSnapshot", faults.OpDeleteSnapshot, ref.ID}
	found, err := s.get(ctx, r.method, ref)
	switch {
	case cloud.ClassOf(err) == cloud.ClassNotFound:
		return nil
	case err != nil:
		return err
	case !owner.Owns(found.Tags):
		return s.fail(r, foreign(ref.ID))
	}
	_, err = send(ctx, s.memory, r, func() (struct{}, *cloud.Error) {
		switch now, ok := s.cloud.Snapshot(ref.ID); {
		case ok && now.Locked:
			return struct{}{}, &cloud.Error{Class: cloud.ClassLocked, Code: "Locked", Message: "a lock prevents it"}
		case ok && now.Used:
			return struct{}{}, &cloud.Error{Class: cloud.ClassInUse, Code: "InUse", Message: "the snapshot is in use"}
		}
		s.cloud.RemoveSnapshot(ref.ID)
		return struct{}{}, nil
	})
	return err
}

func (s snapshots) ref(snapshot Snapshot) cloud.SnapshotRef {
	if s.Rules.Locations {
		return cloud.SnapshotRef{Region: s.Region, ID: snapshot.ID}
	}
	return cloud.SnapshotRef{Region: snapshot.Region, ID: snapshot.ID}
}

func (s snapshots) snapshotOf(snapshot Snapshot, err error) (cloud.Snapshot, error) {
	if err != nil {
		return cloud.Snapshot{}, err
	}
	return s.snapshot(snapshot), nil
}

// snapshot converts a snapshot of the fake to cloud.Snapshot.
func (s snapshots) snapshot(snapshot Snapshot) cloud.Snapshot {
	out := cloud.Snapshot{
		Ref: s.ref(snapshot), Name: snapshot.Tags[cloud.TagName], State: snapshot.State, TakenAt: snapshot.Created, Progress: snapshot.Progress, SizeBytes: snapshot.SizeBytes,
		Encrypted: snapshot.Encrypted, SourceHandle: snapshot.Source, Locations: snapshot.Locations, Tags: snapshot.Tags, Message: snapshot.Message, ObservedAt: s.cloud.Now(),
	}
	switch snapshot.State {
	case cloud.StateTaken, cloud.StateReady, cloud.StateFailed, cloud.StateDeleting:
	default: // Its point in time is not fixed.
		out.State, out.TakenAt = cloud.StateCreating, time.Time{}
	}
	return out
}
