package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/cloud"
)

// desk is a root with a session and a volume on it.
type desk struct {
	cloud.Session
	root   string
	clock  *testclock.FakeClock
	volume cloud.VolumeRef
	owner  cloud.Owner
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{
		root: t.TempDir(), clock: testclock.NewFakeClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)),
		owner: cloud.Owner{Hub: "hub", App: "app"},
	}
	var err error
	if d.Session, err = Connect(t.Context(), cloud.Config{Endpoint: d.root, Region: "here", Clock: d.clock}); err != nil {
		t.Fatal(err)
	}
	handle, err := Provision(d.root, "zone", "data", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	d.volume = cloud.VolumeRef{Region: "here", Zone: "zone", Handle: handle}
	return d
}

func (d *desk) spec(name string) cloud.SnapshotSpec {
	return cloud.SnapshotSpec{Name: name, Source: d.volume, MaySend: true, Tags: cloud.Tags{cloud.TagHub: "hub", cloud.TagApp: "app"}}
}

func (d *desk) ensure(t *testing.T, name string) cloud.Snapshot {
	t.Helper()
	got, err := d.Snapshots.EnsureSnapshot(t.Context(), d.spec(name))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (d *desk) restore(t *testing.T, from cloud.SnapshotRef, name string) (cloud.Volume, error) {
	t.Helper()
	return d.Volumes.EnsureVolume(t.Context(), cloud.VolumeSpec{
		Name: name, Zone: "zone", Snapshot: from, Tags: cloud.Tags{cloud.TagHub: "hub", cloud.TagApp: "app"},
	})
}

// tree describes what is below a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer func() { _ = root.Close() }()
	out := map[string]string{}
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			content, err := root.ReadFile(name)
			if err != nil {
				return err
			}
			text += " " + string(content) + " " + info.ModTime().UTC().Format(time.RFC3339)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := root.Readlink(name)
			if err != nil {
				return err
			}
			text += " -> " + target
		default:
			text += " " + info.ModTime().UTC().Format(time.RFC3339)
		}
		out[name] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// must fails on the first of some errors.
func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestDataComesBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	at := func(name string) string { return filepath.Join(d.volume.Handle, name) }
	long := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	must(t,
		os.MkdirAll(at("base/16384"), 0o700), os.WriteFile(at("base/16384/1"), []byte(strings.Repeat("page", 4096)), 0o600),
		os.WriteFile(at("run.sh"), []byte("#!"), 0o755), os.Chmod(at("run.sh"), 0o755|fs.ModeSetgid),
		os.WriteFile(at("secret"), nil, 0o400), os.Symlink("base/16384", at("inside")), os.Symlink("/etc/passwd", at("outside")),
		os.Mkdir(at("read-only"), 0o700), os.WriteFile(at("read-only/file"), []byte("x"), 0o444), os.Chmod(at("read-only"), 0o555),
		os.Chtimes(at("run.sh"), long, long), os.Chtimes(at("base"), long, long),
		os.Chmod(d.volume.Handle, 0o750|fs.ModeSticky),
	)
	t.Cleanup(func() { _ = os.Chmod(at("read-only"), 0o700) }) // For whoever removes the test's folder.
	want := tree(t, d.volume.Handle)
	must(t, syscall.Mkfifo(at("pipe"), 0o600))
	snapshot := d.ensure(t, "one")

	must(t, os.Remove(at("pipe")), os.WriteFile(at("run.sh"), []byte("changed"), 0o755), os.RemoveAll(at("base")))
	restored, err := d.restore(t, snapshot.Ref, "back")
	must(t, err)
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(restored.Ref.Handle, "read-only"), 0o700) })
	if diff := cmp.Diff(want, tree(t, restored.Ref.Handle)); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	must(t, d.Snapshots.DeleteSnapshot(t.Context(), snapshot.Ref, d.owner), d.Volumes.DeleteVolume(t.Context(), restored.Ref, d.owner))
	for _, dir := range []string{"snapshots", "zone/volumes"} {
		left, err := filepath.Glob(filepath.Join(d.root, dir, temporaryPrefix+"*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %q, %v", left, err)
		}
	}
}

func TestOwnersComeBack(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root may give files away: run the tests as root")
	}
	d := newDesk(t)
	file := filepath.Join(d.volume.Handle, "file")
	must(t, os.WriteFile(file, nil, 0o600), os.Lchown(file, 999, 998), os.Lchown(d.volume.Handle, 999, 999))
	restored, err := d.restore(t, d.ensure(t, "one").Ref, "back")
	must(t, err)
	for name, want := range map[string][2]uint32{"file": {999, 998}, ".": {999, 999}} {
		info, err := os.Lstat(filepath.Join(restored.Ref.Handle, name))
		must(t, err)
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || [2]uint32{stat.Uid, stat.Gid} != want {
			t.Errorf("%s belongs to %v, want %v", name, stat, want)
		}
	}
}

func TestNoWayOut(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "meta.json"), []byte(`{"name":"x","region":"here"}`), 0o600),
		os.Symlink(outside, filepath.Join(d.root, "zone/volumes/link")), os.MkdirAll(filepath.Join(d.root, "snapshots"), 0o700),
		os.Symlink(outside, filepath.Join(d.root, "snapshots/link")))
	volumes := map[string]cloud.Class{
		"/etc": cloud.ClassInvalid, "": cloud.ClassInvalid, "zone/volumes/data": cloud.ClassInvalid, d.root: cloud.ClassInvalid,
		d.root + "/zone/volumes/../../../etc": cloud.ClassInvalid, d.root + "/zone/volumes/..": cloud.ClassInvalid,
		d.root + "/../" + filepath.Base(d.root) + "/zone/volumes/data": cloud.ClassInvalid, d.root + "/zone/volumes/data/sub": cloud.ClassInvalid,
		d.root + "/snapshots/volumes/data": cloud.ClassInvalid, d.root + "x/zone/volumes/data": cloud.ClassInvalid,
		d.root + "/zone/volumes/.data.json": cloud.ClassInvalid, d.root + "/zone/volumes/link": cloud.ClassNotFound,
	}
	for handle, want := range volumes {
		ref := cloud.VolumeRef{Region: "here", Zone: "zone", Handle: handle}
		_, described := d.Volumes.DescribeVolume(t.Context(), ref)
		spec := d.spec("one")
		spec.Source = ref
		_, ensured := d.Snapshots.EnsureSnapshot(t.Context(), spec)
		if cloud.ClassOf(described) != want || cloud.ClassOf(ensured) != want {
			t.Errorf("handle %q: described %v, ensured %v; want %q", handle, described, ensured, want)
		}
	}
	for _, id := range []string{"/etc/passwd", "", d.root + "/snapshots/../zone", d.root + "/snapshots/", d.root + "/snapshots/a/data", d.root + "/snapshots/.tmp-1-a"} {
		_, got := d.Snapshots.GetSnapshot(t.Context(), cloud.SnapshotRef{Region: "here", ID: id})
		deleted := d.Snapshots.DeleteSnapshot(t.Context(), cloud.SnapshotRef{Region: "here", ID: id}, d.owner)
		if cloud.ClassOf(got) != cloud.ClassInvalid || cloud.ClassOf(deleted) != cloud.ClassInvalid {
			t.Errorf("ID %q: got %v, deleted %v", id, got, deleted)
		}
	}
	if got, err := d.Snapshots.GetSnapshot(t.Context(), cloud.SnapshotRef{Region: "here", ID: d.root + "/snapshots/link"}); err == nil {
		t.Errorf("a link led out of the root, to %+v", got)
	}
	for _, zone := range []string{"", "..", "../zone", "snapshots", "a/b"} {
		_, err := d.Volumes.EnsureVolume(t.Context(), cloud.VolumeSpec{Name: "v", Zone: zone, Snapshot: cloud.SnapshotRef{Region: "here", ID: d.root + "/snapshots/one"}})
		if cloud.ClassOf(err) != cloud.ClassInvalid {
			t.Errorf("zone %q: %v", zone, err)
		}
	}
	for _, name := range []string{"", "..", "a/b", ".tmp-1-a", strings.Repeat("n", 129)} {
		if _, err := d.Snapshots.EnsureSnapshot(t.Context(), d.spec(name)); cloud.ClassOf(err) != cloud.ClassInvalid {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

func TestLeftovers(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.ensure(t, "one")
	unfinished := filepath.Join(d.root, "snapshots", temporaryPrefix+"1772330400-CRASHED") // 2026-03-01T02:00:00Z.
	must(t, os.MkdirAll(filepath.Join(unfinished, "data"), 0o700),
		os.WriteFile(filepath.Join(unfinished, "meta.json"), []byte(`{"name":"two","region":"here","tags":{"shopfleet-hub":"hub"}}`), 0o600))
	count := func() int {
		n := 0
		for _, err := range d.Snapshots.ListSnapshots(t.Context(), cloud.Owner{Hub: "hub"}) {
			must(t, err)
			n++
		}
		return n
	}
	if got := count(); got != 1 {
		t.Errorf("%d snapshots are listed; what is not finished is none", got)
	}
	d.clock.SetTime(time.Unix(1772330400, 0).Add(temporaryAge))
	d.ensure(t, "two")
	if _, err := os.Stat(unfinished); err != nil {
		t.Errorf("what may be under way was removed: %v", err)
	}
	d.clock.SetTime(time.Unix(1772330400, 0).Add(temporaryAge + time.Second))
	d.ensure(t, "three")
	if _, err := os.Stat(unfinished); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a crash left is still there: %v", err)
	}
}

func TestCancelledCopyLeavesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	must(t, os.WriteFile(filepath.Join(d.volume.Handle, "file"), []byte("x"), 0o600))
	p, err := newProvider(cloud.Config{Endpoint: d.root, Region: "here", Clock: d.clock})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	p.hook = func(_ context.Context, r request, do func() error) error {
		if r.op == opCreateSnapshot {
			cancel()
		}
		return do()
	}
	_, err = p.session().Snapshots.EnsureSnapshot(ctx, d.spec("one"))
	if cloud.ClassOf(err) != cloud.ClassAmbiguous || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want it %q and cancelled", err, cloud.ClassAmbiguous)
	}
	root, err := os.OpenRoot(d.root)
	must(t, err, os.MkdirAll(filepath.Join(d.root, "to"), 0o700))
	defer func() { _ = root.Close() }()
	if err := copyTree(ctx, root, "zone/volumes/data", "to"); !errors.Is(err, context.Canceled) {
		t.Errorf("copying when cancelled: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(d.root, "snapshots", "*"))
	hidden, _ := filepath.Glob(filepath.Join(d.root, "snapshots", ".*"))
	if err != nil || len(left)+len(hidden) > 0 {
		t.Errorf("left behind: %q %q, %v", left, hidden, err)
	}
}

func TestGarbledRecords(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.ensure(t, "good")
	bad := d.ensure(t, "bad")
	must(t, os.WriteFile(filepath.Join(bad.Ref.ID, "meta.json"), []byte(`{"name":"ba`), 0o600))
	if _, err := d.Snapshots.GetSnapshot(t.Context(), bad.Ref); cloud.ClassOf(err) != cloud.ClassTransient {
		t.Errorf("getting: %v", err)
	}
	if err := d.Snapshots.DeleteSnapshot(t.Context(), bad.Ref, d.owner); cloud.ClassOf(err) != cloud.ClassTransient {
		t.Errorf("deleting what may be another's: %v", err)
	}
	failed := false
	for _, err := range d.Snapshots.ListSnapshots(t.Context(), d.owner) {
		failed = failed || cloud.ClassOf(err) == cloud.ClassTransient
	}
	if !failed {
		t.Error("a list with a record that cannot be read is complete")
	}
}

func TestFolderThatNobodyNoted(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ref := cloud.VolumeRef{Region: "here", Zone: "zone", Handle: filepath.Join(d.root, "zone/volumes/plain")}
	must(t, os.Mkdir(ref.Handle, 0o700), os.WriteFile(filepath.Join(ref.Handle, "file"), []byte("12345"), 0o600))
	got, err := d.Volumes.DescribeVolume(t.Context(), ref)
	if err != nil || got.SizeBytes != 5 || got.UID == "" {
		t.Errorf("described %+v, %v; want 5 bytes and a UID", got, err)
	}
	if _, err := d.restore(t, d.ensure(t, "one").Ref, "plain"); cloud.ClassOf(err) != cloud.ClassConflict {
		t.Errorf("restoring over what somebody else made: %v", err)
	}
	if err := d.Volumes.DeleteVolume(t.Context(), ref, d.owner); cloud.ClassOf(err) != cloud.ClassDenied {
		t.Errorf("deleting what somebody else made: %v", err)
	}
	if _, err := Provision(d.root, "zone", "data", 1); !errors.Is(err, fs.ErrExist) {
		t.Errorf("provisioning twice: %v", err)
	}
}

func TestConnectChecks(t *testing.T) {
	t.Parallel()
	c := testclock.NewFakeClock(time.Time{})
	for name, config := range map[string]cloud.Config{
		"no directory":       {Region: "here", Clock: c},
		"relative directory": {Endpoint: "here", Region: "here", Clock: c},
		"no region":          {Endpoint: "/srv", Clock: c},
		"region with path":   {Endpoint: "/srv", Region: "../here", Clock: c},
		"no clock":           {Endpoint: "/srv", Region: "here"},
	} {
		if _, err := Connect(t.Context(), config); cloud.ClassOf(err) != cloud.ClassInvalid {
			t.Errorf("%s: %v, want %q", name, err, cloud.ClassInvalid)
		}
	}
	session, err := Connect(t.Context(), cloud.Config{Endpoint: filepath.Join(t.TempDir(), "missing"), Region: "here", Clock: c})
	must(t, err)
	if _, err := session.Access.Identity(t.Context()); err == nil {
		t.Error("a directory that is not there has an identity")
	}
}
