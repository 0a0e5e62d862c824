package local

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

func TestContract(t *testing.T) {
	t.Parallel()
	cloudtest.Run(t, bench)
}

// spare are the cases that a directory has nothing for.
func spare() map[int]string {
	atOnce := "a copy is finished, and seen, when the call returns"
	return map[int]string{
		16: "snapshots have a region, and are copied: see case 15",
		27: atOnce, 31: atOnce, 32: atOnce, 33: atOnce,
		29: "there are no credentials: who may write to the directory may do all",
		36: "there are no rates",
		40: "there are no states",
	}
}

// bench is a directory. Requests go wrong around the operations on it.
func bench(t testing.TB) *cloudtest.Backend {
	t.Helper()
	base := t.TempDir()
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))
	script := &faults.Script{}
	roots := map[bool]string{false: filepath.Join(base, "first"), true: filepath.Join(base, "second")}
	for _, root := range roots {
		if err := os.Mkdir(root, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	here := directory{t: t, root: roots[false]}
	b := &cloudtest.Backend{
		Provider: v1.ProviderLocal, Clock: clock, Script: script, Store: here,
		Regions: [2]string{"desk", "shelf"}, Zones: [2]string{"desk-a", "shelf-a"},
		Refusal: refusal, ClassVolume: cloud.Volume{Type: "directory"},
		NoOracle: "there is no wire, and so no vendor's description of one", Spare: spare(),
	}
	b.Connect = func(t testing.TB, o cloudtest.Options) cloud.Session {
		t.Helper()
		p, err := newProvider(cloud.Config{Endpoint: roots[o.OtherAccount], Region: b.Regions[o.Region], Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		p.hook = p.faulty(script)
		return p.session()
	}
	b.Disk = func(t testing.TB, name string, size int64) cloud.VolumeRef {
		t.Helper()
		handle := filepath.Join(here.root, "desk-a", "volumes", name)
		here.RemoveVolume(handle)
		got, err := Provision(here.root, "desk-a", name, size)
		if err != nil || got != handle {
			t.Fatalf("provisioned %q, %v; want %q", got, err, handle)
		}
		if err := os.WriteFile(filepath.Join(handle, "file"), []byte(name), 0o640); err != nil {
			t.Fatal(err)
		}
		return cloud.VolumeRef{Region: "desk", Zone: "desk-a", Handle: handle}
	}
	b.Stranger = func(t testing.TB) cloud.SnapshotRef {
		t.Helper()
		id := filepath.Join(here.root, "snapshots", "by-hand")
		if err := os.MkdirAll(filepath.Join(id, "data"), 0o700); err != nil {
			t.Fatal(err)
		}
		here.save(filepath.Join(id, "meta.json"), meta{Name: "by-hand", Region: "desk", Source: "somewhere"})
		return cloud.SnapshotRef{Region: "desk", ID: id}
	}
	return b
}

// refusal is what the operating system would say, in the hands of faulty.
func refusal(class cloud.Class, op faults.Op, after time.Duration) faults.Answer {
	return faults.Answer{
		Header: http.Header{"Class": {string(class)}, "Retry-After": {strconv.Itoa(int(after / time.Second))}},
		Body:   string(op) + " is refused",
	}
}

// errCut is the cause of an operation of which nobody hears.
var errCut = errors.New("cut off")

// faulty lets operations go wrong as a script says.
func (p *provider) faulty(script *faults.Script) func(context.Context, request, func() error) error {
	return func(ctx context.Context, r request, do func() error) error {
		fault, wrong := script.Next(faults.Op(r.op), string(r.op)+" "+r.what)
		lost := cloud.Error{Class: cloud.ClassTransient, Message: "cut off", Err: errCut}
		if r.op.changes() {
			lost.Class = cloud.ClassAmbiguous
		}
		switch {
		case !wrong:
			return do()
		case fault.Kind == faults.Refuse:
			refused := cloud.Error{Class: cloud.Class(fault.Answer.Header.Get("Class")), Message: fault.Answer.Body}
			if seconds, err := strconv.Atoi(fault.Answer.Header.Get("Retry-After")); err == nil && seconds > 0 {
				refused.RetryAfter = time.Duration(seconds) * time.Second
			}
			if refused.Class == cloud.ClassThrottled {
				refused.RetryAfter = max(refused.RetryAfter, 5*time.Second)
			}
			if refused.Class == cloud.ClassTransient {
				refused.Class = lost.Class
			}
			return p.fail(r.method, refused)
		case fault.Kind == faults.Hang:
			<-ctx.Done()
		case fault.Kind == faults.DropAfter || fault.Kind == faults.Truncate:
			_ = do()
		}
		return p.fail(r.method, lost)
	}
}

// directory is the truth about a root.
type directory struct {
	t    testing.TB
	root string
}

func (d directory) load(name string, into any) bool {
	d.t.Helper()
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return true
}

func (d directory) save(name string, record any) {
	d.t.Helper()
	text, err := json.Marshal(record)
	if err == nil {
		err = os.WriteFile(name, text, 0o600)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// Snapshots implements cloudtest.Store. What has no name yet counts too, whole or not.
func (d directory) Snapshots() []fake.Snapshot {
	found, _ := filepath.Glob(filepath.Join(d.root, "snapshots", "*"))
	var out []fake.Snapshot
	for _, id := range found {
		var m meta
		if !d.load(filepath.Join(id, "meta.json"), &m) {
			continue
		}
		out = append(out, fake.Snapshot{ID: id, Region: m.Region, Source: m.Source, SourceUID: m.SourceUID, Tags: m.Tags, Locked: m.Locked, State: cloud.StateReady})
	}
	return out
}

// EditSnapshot implements cloudtest.Store.
func (d directory) EditSnapshot(id string, edit func(*fake.Snapshot)) bool {
	var m meta
	name := filepath.Join(id, "meta.json")
	if !d.load(name, &m) {
		return false
	}
	s := fake.Snapshot{Tags: m.Tags}
	edit(&s)
	m.Tags, m.Locked = s.Tags, s.Locked || s.Used
	d.save(name, m)
	return true
}

// RemoveSnapshot implements cloudtest.Store.
func (d directory) RemoveSnapshot(id string) { _ = os.RemoveAll(id) }

func noted(handle string) string {
	return filepath.Join(filepath.Dir(handle), "."+filepath.Base(handle)+".json")
}

// Volumes implements cloudtest.Store.
func (d directory) Volumes() []fake.Volume {
	found, _ := filepath.Glob(filepath.Join(d.root, "*", "volumes", "*"))
	var out []fake.Volume
	for _, id := range found {
		var n note
		if !strings.HasPrefix(filepath.Base(id), ".") {
			d.load(noted(id), &n)
			out = append(out, fake.Volume{ID: id, SizeBytes: n.SizeBytes, Tags: n.Tags})
		}
	}
	return out
}

// EditVolume implements cloudtest.Store.
func (d directory) EditVolume(id string, edit func(*fake.Volume)) bool {
	var n note
	if !d.load(noted(id), &n) {
		return false
	}
	v := fake.Volume{Tags: n.Tags, Attached: n.Attached}
	edit(&v)
	n.Tags, n.Attached = v.Tags, v.Attached
	d.save(noted(id), n)
	return true
}

// RemoveVolume implements cloudtest.Store.
func (d directory) RemoveVolume(id string) {
	_ = os.RemoveAll(id)
	_ = os.Remove(noted(id))
}
