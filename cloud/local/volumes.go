package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/shopfleet/shopfleet/cloud"
)

// volumes is cloud.Volumes.
type volumes struct{ *provider }

// Provision makes an empty volume as a provisioner would, and returns its handle. It is
// an error if there is one of that name. The size is noted, not enforced.
func Provision(root, zone, name string, sizeBytes int64) (string, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return "", fmt.Errorf("opening the directory of volumes: %w", err)
	}
	defer func() { _ = dir.Close() }()
	if err := dir.MkdirAll(path.Join(zone, "volumes"), 0o755); err != nil {
		return "", fmt.Errorf("making zone %q: %w", zone, err)
	}
	at := path.Join(zone, "volumes", name)
	if err := writeRecord(dir, notePath(zone, name), note{UID: rand.Text(), SizeBytes: sizeBytes}); err != nil {
		return "", fmt.Errorf("noting volume %q: %w", name, err)
	}
	if err := dir.Mkdir(at, 0o755); err != nil {
		return "", fmt.Errorf("making volume %q: %w", name, err)
	}
	return filepath.Join(root, at), nil
}

// notePath is where is noted what is known of a volume.
func notePath(zone, name string) string { return path.Join(zone, "volumes", "."+name+".json") }

// DescribeVolume implements cloud.Volumes.
func (p volumes) DescribeVolume(ctx context.Context, ref cloud.VolumeRef) (cloud.Volume, error) {
	found, _, err := p.volume(ctx, "DescribeVolume", ref)
	return found, err
}

// volume reads a volume and what is noted of it, which may be nothing.
func (p *provider) volume(ctx context.Context, method string, ref cloud.VolumeRef) (cloud.Volume, note, error) {
	var known note
	zone, name, err := p.volumePath(method, ref.Handle)
	if err != nil {
		return cloud.Volume{}, known, err
	}
	out := cloud.Volume{
		Ref:   cloud.VolumeRef{Region: p.region, Zone: zone, Handle: ref.Handle},
		State: cloud.StateReady, Type: "directory",
	}
	err = p.do(ctx, request{method, opDescribeVolume, ref.Handle}, func(root *os.Root) error {
		at := path.Join(zone, "volumes", name)
		info, err := root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return p.notFound(method, "volume "+ref.Handle)
		}
		if err != nil {
			return err
		}
		err = readRecord(root, notePath(zone, name), &known)
		if errors.Is(err, fs.ErrNotExist) {
			known.SizeBytes, err = sizeOf(root, at)
		}
		if err != nil {
			return err
		}
		out.UID, out.SizeBytes, out.Attached, out.Tags = known.UID+number(info), known.SizeBytes, known.Attached, known.Tags
		return nil
	})
	if err != nil {
		return cloud.Volume{}, note{}, err
	}
	return out, known, nil
}

// number is the number that the file system has for a folder.
func number(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("-%d", stat.Ino)
}

// EnsureVolume implements cloud.Volumes. It returns when all is copied; the class is not
// looked at.
func (p volumes) EnsureVolume(ctx context.Context, spec cloud.VolumeSpec) (cloud.Volume, error) {
	r := request{"EnsureVolume", opCreateVolume, attempted(spec.Name, spec.Attempt)}
	ref := cloud.VolumeRef{Region: p.region, Zone: spec.Zone, Handle: filepath.Join(p.dir, spec.Zone, "volumes", r.what)}
	found, known, err := p.volume(ctx, r.method, ref)
	if err == nil {
		return p.restored(r, spec, found, known)
	}
	if cloud.ClassOf(err) != cloud.ClassNotFound {
		return cloud.Volume{}, err
	}
	at, err := p.snapshotPath(r.method, spec.Snapshot.ID)
	if err != nil {
		return cloud.Volume{}, err
	}
	from, err := p.get(ctx, r.method, spec.Snapshot)
	switch {
	case err != nil:
		return cloud.Volume{}, err
	case spec.SizeBytes != 0 && spec.SizeBytes < from.SizeBytes:
		return cloud.Volume{}, p.invalid(r.method, fmt.Sprintf("%d bytes are less than the snapshot's %d", spec.SizeBytes, from.SizeBytes))
	}
	made := note{
		UID: rand.Text(), SizeBytes: max(spec.SizeBytes, from.SizeBytes), From: spec.Snapshot.ID,
		Tags: spec.Tags.With(cloud.Tags{cloud.TagName: r.what}),
	}
	err = p.do(ctx, r, func(root *os.Root) error { return p.restore(ctx, root, spec.Zone, r, made, path.Join(at, "data")) })
	if err != nil {
		return cloud.Volume{}, err
	}
	if found, known, err = p.volume(ctx, r.method, ref); err != nil {
		return cloud.Volume{}, err
	}
	return p.restored(r, spec, found, known)
}

// restore copies a snapshot's data and gives it the name of a volume. What is known of
// it is there before, so that no volume is without.
func (p volumes) restore(ctx context.Context, root *os.Root, zone string, r request, made note, data string) error {
	dir := path.Join(zone, "volumes")
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	p.clean(root, dir)
	unfinished, noted := path.Join(dir, p.temporary()), path.Join(dir, p.temporary())
	defer func() { _ = root.Remove(noted) }()
	if err := writeRecord(root, noted, made); err != nil {
		return err
	}
	// A link does not replace what is there: the first note of a name stays.
	if err := root.Link(noted, notePath(zone, r.what)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	err := root.Mkdir(unfinished, 0o700)
	if err == nil {
		err = copyTree(ctx, root, data, unfinished)
	}
	if err == nil {
		err = root.Rename(unfinished, path.Join(dir, r.what))
	}
	if err != nil {
		err = errors.Join(err, removeAll(root, unfinished))
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
		return nil // Somebody was faster, which is as good.
	}
	return syncDir(root, dir)
}

// restored returns a volume if it was made for that owner from that snapshot.
func (p volumes) restored(r request, spec cloud.VolumeSpec, found cloud.Volume, known note) (cloud.Volume, error) {
	owner := cloud.Owner{Hub: spec.Tags[cloud.TagHub], App: spec.Tags[cloud.TagApp]}
	if known.From != spec.Snapshot.ID || !owner.Owns(found.Tags) {
		return cloud.Volume{}, p.conflict(r.method, spec.Name)
	}
	return found, nil
}

// DeleteVolume implements cloud.Volumes.
func (p volumes) DeleteVolume(ctx context.Context, ref cloud.VolumeRef, owner cloud.Owner) error {
	r := request{"DeleteVolume", opDeleteVolume, ref.Handle}
	zone, name, err := p.volumePath(r.method, ref.Handle)
	if err != nil {
		return err
	}
	found, known, err := p.volume(ctx, r.method, ref)
	switch {
	case cloud.ClassOf(err) == cloud.ClassNotFound:
		return nil
	case err != nil:
		return err
	case known.From == "" || !owner.Owns(found.Tags):
		return p.foreign(r.method, ref.Handle)
	case found.Attached:
		return p.fail(r.method, cloud.Error{Class: cloud.ClassInUse, Code: "Attached", Message: "what is noted of it says that it is attached"})
	}
	return p.do(ctx, r, func(root *os.Root) error {
		if err := p.discard(root, path.Join(zone, "volumes", name)); err != nil {
			return err
		}
		if err := root.Remove(notePath(zone, name)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}
