package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/shopfleet/shopfleet/cloud"
)

// snapshots is cloud.Snapshots.
type snapshots struct{ *provider }

// attempted is the name of an attempt.
func attempted(name string, attempt int) string {
	if attempt == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, attempt)
}

// id is the ID of a snapshot.
func (p *provider) id(name string) string { return filepath.Join(p.dir, "snapshots", name) }

// EnsureSnapshot implements cloud.Snapshots. It returns when all is copied.
func (p snapshots) EnsureSnapshot(ctx context.Context, spec cloud.SnapshotSpec) (cloud.Snapshot, error) {
	r := request{"EnsureSnapshot", opCreateSnapshot, attempted(spec.Name, spec.Attempt)}
	want := meta{Name: r.what, Region: p.region, Source: spec.Source.Handle, SourceUID: spec.SourceUID, Tags: spec.Tags}
	if len(spec.Locations) > 0 {
		return cloud.Snapshot{}, p.fail(r.method, cloud.Error{Class: cloud.ClassUnsupported, Code: "Locations", Message: "snapshots are where the volumes are"})
	}
	if got, done, err := p.look(ctx, r, want, spec.MaySend); done {
		return got, err
	}
	zone, name, err := p.volumePath(r.method, spec.Source.Handle)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	volume, _, err := p.volume(ctx, r.method, spec.Source)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	if want.SourceUID != "" && want.SourceUID != volume.UID {
		return cloud.Snapshot{}, p.conflict(r.method, spec.Source.Handle)
	}
	want.SourceUID, want.SizeBytes = volume.UID, volume.SizeBytes
	want.Tags = want.Tags.With(cloud.Tags{cloud.TagName: r.what, cloud.TagVolume: volume.UID})
	return p.create(ctx, r, want, path.Join(zone, "volumes", name))
}

// EnsureCopy implements cloud.Snapshots. Regions are but a name here: the copy is in
// the same directory.
func (p snapshots) EnsureCopy(ctx context.Context, spec cloud.CopySpec) (cloud.Snapshot, error) {
	r := request{"EnsureCopy", opCopySnapshot, attempted(spec.Name, spec.Attempt)}
	want := meta{Name: r.what, Region: p.region, Source: spec.Source.ID, IsCopy: true, Tags: spec.Tags}
	if got, done, err := p.look(ctx, r, want, spec.MaySend); done {
		return got, err
	}
	at, err := p.snapshotPath(r.method, spec.Source.ID)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	source, err := p.get(ctx, r.method, spec.Source)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	want.SizeBytes = source.SizeBytes
	want.Tags = want.Tags.With(cloud.Tags{cloud.TagName: r.what, cloud.TagCopyOf: spec.Source.ID})
	return p.create(ctx, r, want, path.Join(at, "data"))
}

// look looks for a snapshot of a name; done means that there is nothing else to do.
func (p snapshots) look(ctx context.Context, r request, want meta, maySend bool) (_ cloud.Snapshot, done bool, _ error) {
	if !p.names.MatchString(want.Name) {
		return cloud.Snapshot{}, true, p.invalid(r.method, fmt.Sprintf("the name %q is not up to 128 letters, digits, dots and dashes", want.Name))
	}
	found, err := p.get(ctx, r.method, cloud.SnapshotRef{Region: p.region, ID: p.id(want.Name)})
	switch {
	case err == nil:
		got, err := p.adopt(r, found, want)
		return got, true, err
	case cloud.ClassOf(err) != cloud.ClassNotFound:
		return cloud.Snapshot{}, true, err
	case !maySend:
		return cloud.Snapshot{}, true, p.fail(r.method, cloud.Error{Class: cloud.ClassAmbiguous, Code: "NotVisible", Message: fmt.Sprintf("%q is not there", want.Name)})
	}
	return cloud.Snapshot{}, false, nil
}

// adopt returns what is there under a name if it is what is wanted.
func (p snapshots) adopt(r request, found, want meta) (cloud.Snapshot, error) {
	owner := cloud.Owner{Hub: want.Tags[cloud.TagHub], App: want.Tags[cloud.TagApp]}
	if found.Source != want.Source || want.SourceUID != "" && found.SourceUID != want.SourceUID || found.IsCopy != want.IsCopy || !owner.Owns(found.Tags) {
		return cloud.Snapshot{}, p.conflict(r.method, want.Name)
	}
	return p.snapshot(found), nil
}

// create copies a folder, describes the copy, and gives it its name.
func (p snapshots) create(ctx context.Context, r request, want meta, from string) (cloud.Snapshot, error) {
	err := p.do(ctx, r, func(root *os.Root) error {
		if err := root.MkdirAll("snapshots", 0o700); err != nil {
			return err
		}
		p.clean(root, "snapshots")
		unfinished := path.Join("snapshots", p.temporary())
		err := p.write(ctx, root, unfinished, from, &want)
		if err == nil {
			err = root.Rename(unfinished, path.Join("snapshots", want.Name))
		}
		if err != nil {
			return errors.Join(err, removeAll(root, unfinished))
		}
		return syncDir(root, "snapshots")
	})
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		// Somebody was faster.
		got, _, err := p.look(ctx, r, want, false)
		return got, err
	}
	if err != nil {
		return cloud.Snapshot{}, err
	}
	return p.snapshot(want), nil
}

// write makes all of a snapshot under another name; what is known of it comes last.
func (p snapshots) write(ctx context.Context, root *os.Root, at, from string, want *meta) error {
	data := path.Join(at, "data")
	if err := errors.Join(root.Mkdir(at, 0o700), root.Mkdir(data, 0o700)); err != nil {
		return err
	}
	if err := copyTree(ctx, root, from, data); err != nil {
		return err
	}
	want.CutAt = p.clock.Now().UTC()
	return errors.Join(writeRecord(root, path.Join(at, "meta.json"), want), syncDir(root, at))
}

// GetSnapshot implements cloud.Snapshots.
func (p snapshots) GetSnapshot(ctx context.Context, ref cloud.SnapshotRef) (cloud.Snapshot, error) {
	found, err := p.get(ctx, "GetSnapshot", ref)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	return p.snapshot(found), nil
}

func (p *provider) get(ctx context.Context, method string, ref cloud.SnapshotRef) (meta, error) {
	var found meta
	at, err := p.snapshotPath(method, ref.ID)
	if err != nil {
		return meta{}, err
	}
	err = p.do(ctx, request{method, opGetSnapshot, ref.ID}, func(root *os.Root) error {
		err := readRecord(root, path.Join(at, "meta.json"), &found)
		if errors.Is(err, fs.ErrNotExist) || err == nil && found.Region != ref.Region {
			return p.notFound(method, "snapshot "+ref.ID)
		}
		return err
	})
	if err != nil {
		return meta{}, err
	}
	return found, nil
}

// ListSnapshots implements cloud.Snapshots. All are read before the first is yielded.
func (p snapshots) ListSnapshots(ctx context.Context, owner cloud.Owner) iter.Seq2[cloud.Snapshot, error] {
	return func(yield func(cloud.Snapshot, error) bool) {
		var all []meta
		err := p.do(ctx, request{"ListSnapshots", opListSnapshots, owner.Hub}, func(root *os.Root) (err error) {
			all, err = p.records(root)
			return err
		})
		if err != nil {
			yield(cloud.Snapshot{}, err)
			return
		}
		for _, found := range all {
			if owner.Owns(found.Tags) && !yield(p.snapshot(found), nil) {
				return
			}
		}
	}
}

// records reads what is known of all snapshots of the region.
func (p snapshots) records(root *os.Root) ([]meta, error) {
	entries, err := fs.ReadDir(root.FS(), "snapshots")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []meta
	for _, entry := range entries {
		if !entry.IsDir() || strings.HasPrefix(entry.Name(), temporaryPrefix) {
			continue
		}
		var found meta
		switch err := readRecord(root, path.Join("snapshots", entry.Name(), "meta.json"), &found); {
		case errors.Is(err, fs.ErrNotExist):
			continue // It goes, or it is a folder that no snapshot is in.
		case err != nil:
			return nil, err
		}
		if found.Name == entry.Name() && found.Region == p.region {
			all = append(all, found)
		}
	}
	return all, err
}

// DeleteSnapshot implements cloud.Snapshots. It is gone at once, under its name.
func (p snapshots) DeleteSnapshot(ctx context.Context, ref cloud.SnapshotRef, owner cloud.Owner) error {
	r := request{"DeleteSnapshot", opDeleteSnapshot, ref.ID}
	at, err := p.snapshotPath(r.method, ref.ID)
	if err != nil {
		return err
	}
	found, err := p.get(ctx, r.method, ref)
	switch {
	case cloud.ClassOf(err) == cloud.ClassNotFound:
		return nil
	case err != nil:
		return err
	case !owner.Owns(found.Tags):
		return p.foreign(r.method, ref.ID)
	case found.Locked:
		return p.fail(r.method, cloud.Error{Class: cloud.ClassLocked, Code: "Locked", Message: "its meta.json says that it is locked"})
	}
	return p.do(ctx, r, func(root *os.Root) error { return p.discard(root, at) })
}

// discard takes a folder's name away, which is done at once or not at all, and then
// removes what is in it.
func (p *provider) discard(root *os.Root, at string) error {
	dir := path.Dir(at)
	going := path.Join(dir, p.temporary())
	switch err := root.Rename(at, going); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return errors.Join(syncDir(root, dir), removeAll(root, going))
}

// snapshot is what is known of one in the words of the port.
func (p *provider) snapshot(m meta) cloud.Snapshot {
	return cloud.Snapshot{
		Ref: cloud.SnapshotRef{Region: m.Region, ID: p.id(m.Name)}, Name: m.Name, State: cloud.StateReady, TakenAt: m.CutAt, Progress: 100,
		SizeBytes: m.SizeBytes, SourceHandle: m.Source, Tags: m.Tags, ObservedAt: p.clock.Now().UTC(),
	}
}
