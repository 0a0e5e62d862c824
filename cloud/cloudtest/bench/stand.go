package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

// Case is a case of the contract. Its number is that of the design.
type Case struct {
	Number int
	Name   string
	Run    func(s *Stand)
}

// Stand is a bench with a case at work on it.
type Stand struct {
	testing.TB
	*Bench
	// Owner is whose snapshots the case makes.
	Owner cloud.Owner

	bench func(testing.TB) *Bench
	watch *watch
}

// New makes a stand. What is true of all requests and errors is checked when the test ends.
func New(t testing.TB, bench func(testing.TB) *Bench) *Stand {
	t.Helper()
	s := &Stand{
		TB: t, Bench: bench(t), bench: bench, watch: &watch{},
		Owner: cloud.Owner{Hub: "0f5e1d2c-93aa-4bd4-8f61-5c0f5b6f2d11", App: "7be1a6a0-0c55-4c1e-a6c6-2f4f5d3c9b02"},
	}
	if s.Store == nil {
		s.Store = s.World
	}
	t.Cleanup(func() { s.watch.check(s) })
	return s
}

// Again is another stand of the same case, with a bench that nothing happened on.
func (s *Stand) Again() *Stand {
	s.Helper()
	return New(s.TB, s.bench)
}

// Session is a new one, as after a crash. All that it answers is looked at.
func (s *Stand) Session(o Options) cloud.Session {
	s.Helper()
	return s.watch.wrap(s.Connect(s, o))
}

// Pace sets how long things take, where that can be set. What is there already is shown.
func (s *Stand) Pace(p fake.Pace) {
	if s.World != nil {
		s.Clock.Step(p.Lag + p.Ready + time.Second)
		s.World.SetPace(p)
	}
}

// Spec is a snapshot that is wanted of a volume, for a scheduled time.
func (s *Stand) Spec(volume cloud.VolumeRef, scheduledTime string) cloud.SnapshotSpec {
	return s.SpecOf(s.Owner, volume, scheduledTime)
}

// SpecOf is the same for an owner.
func (s *Stand) SpecOf(owner cloud.Owner, volume cloud.VolumeRef, scheduledTime string) cloud.SnapshotSpec {
	return cloud.SnapshotSpec{
		Name:   cloud.Name(owner.Hub, owner.App, volume.Handle, scheduledTime, "snapshot"),
		Source: volume, MaySend: true,
		Tags: cloud.Tags{
			cloud.TagHub: owner.Hub, cloud.TagApp: owner.App,
			cloud.TagNamespace: "shop", cloud.TagAppName: "shop", cloud.TagScheduledTime: scheduledTime,
		},
	}
}

// GiB is a GiB in bytes.
const GiB = int64(1) << 30

// Volume adds a volume of 20 GiB.
func (s *Stand) Volume(name string) cloud.VolumeRef {
	s.Helper()
	return s.Disk(s, name, 20*GiB)
}

// Ensure is EnsureSnapshot that must not fail.
func (s *Stand) Ensure(session cloud.Session, spec cloud.SnapshotSpec) cloud.Snapshot {
	s.Helper()
	got, err := session.Snapshots.EnsureSnapshot(s.Context(), spec)
	if err != nil {
		s.Fatalf("ensuring snapshot %q: %v", spec.Name, err)
	}
	return got
}

// Get is GetSnapshot that must not fail.
func (s *Stand) Get(session cloud.Session, ref cloud.SnapshotRef) cloud.Snapshot {
	s.Helper()
	got, err := session.Snapshots.GetSnapshot(s.Context(), ref)
	if err != nil {
		s.Fatalf("reading snapshot %q: %v", ref.ID, err)
	}
	return got
}

// Ready is a snapshot of scheduled time 0 that is Ready.
func (s *Stand) Ready(session cloud.Session, volume cloud.VolumeRef) cloud.Snapshot {
	s.Helper()
	made := s.Ensure(session, s.Spec(volume, "0"))
	s.Clock.Step(10 * time.Minute)
	got := s.Get(session, made.Ref)
	if got.State != cloud.StateReady {
		s.Fatalf("state %q after ten minutes, want %q", got.State, cloud.StateReady)
	}
	return got
}

// List reads all that an owner has, up to an error.
func (s *Stand) List(session cloud.Session, owner cloud.Owner) ([]cloud.Snapshot, error) {
	var all []cloud.Snapshot
	for snapshot, err := range session.Snapshots.ListSnapshots(s.Context(), owner) {
		if err != nil {
			return all, err
		}
		all = append(all, snapshot)
	}
	return all, nil
}

// IDs are the IDs of what an owner has, sorted; it must not fail.
func (s *Stand) IDs(session cloud.Session, owner cloud.Owner) []string {
	s.Helper()
	all, err := s.List(session, owner)
	if err != nil {
		s.Fatalf("listing: %v", err)
	}
	out := make([]string, 0, len(all))
	for _, snapshot := range all {
		out = append(out, snapshot.Ref.ID)
	}
	slices.Sort(out)
	return out
}

// Owned are the snapshots of a name, of whichever attempt, that the cloud really has,
// without failed ones.
func (s *Stand) Owned(owner cloud.Owner, name string) []fake.Snapshot {
	var out []fake.Snapshot
	for _, snapshot := range s.Store.Snapshots() {
		called := snapshot.Tags[cloud.TagName]
		if snapshot.State != cloud.StateFailed && owner.Owns(snapshot.Tags) && (called == name || strings.HasPrefix(called, name+"-")) {
			out = append(out, snapshot)
		}
	}
	return out
}

// One fails unless the cloud really has exactly one snapshot of a name.
func (s *Stand) One(name string) fake.Snapshot {
	s.Helper()
	all := s.Owned(s.Owner, name)
	if len(all) != 1 {
		s.Fatalf("the cloud has %d snapshots of name %q, want exactly one: %v", len(all), name, all)
	}
	return all[0]
}

// WantClass fails unless an error is of one of some classes.
func (s *Stand) WantClass(err error, classes ...cloud.Class) {
	s.Helper()
	if err == nil || !slices.Contains(classes, cloud.ClassOf(err)) {
		s.Fatalf("class %q of error %v, want one of %q", cloud.ClassOf(err), err, classes)
	}
}

// WantCount fails unless an operation was called so often.
func (s *Stand) WantCount(op faults.Op, want int) {
	s.Helper()
	if got := s.Script.Count(op); got != want {
		s.Fatalf("%d calls of %s, want %d", got, op, want)
	}
}

// Several makes snapshots of as many volumes and returns their IDs, sorted.
func (s *Stand) Several(session cloud.Session, owner cloud.Owner, n int) []string {
	s.Helper()
	ids := make([]string, 0, n)
	for i := range n {
		spec := s.SpecOf(owner, s.Volume(fmt.Sprintf("data-%s-%d", owner.Hub[:4], i)), "0")
		ids = append(ids, s.Ensure(session, spec).Ref.ID)
	}
	slices.Sort(ids)
	return ids
}

// Pages lets lists have pages of two, where they have pages.
func (s *Stand) Pages() {
	if s.PageSize != nil {
		s.PageSize(2)
	}
}

// OtherHub is the owner of what another hub made.
func (s *Stand) OtherHub() cloud.Owner {
	return cloud.Owner{Hub: "1a2b3c4d-0000-4000-8000-00000000beef", App: s.Owner.App}
}

// VolumeSpec is a volume of 40 GiB and of the class that is wanted of a snapshot; what
// it is for tells it from others.
func (s *Stand) VolumeSpec(from cloud.SnapshotRef, kind string) cloud.VolumeSpec {
	return cloud.VolumeSpec{
		Name: cloud.Name(s.Owner.Hub, s.Owner.App, from.ID, kind, "volume"), Zone: s.Zones[0], Snapshot: from, SizeBytes: 40 * GiB, Class: s.Class,
		Tags: cloud.Tags{cloud.TagHub: s.Owner.Hub, cloud.TagApp: s.Owner.App, cloud.TagClaim: "data-shop-0"},
	}
}

// CodeOf is the code of an error of a cloud.
func CodeOf(err error) string {
	if e, ok := errors.AsType[*cloud.Error](err); ok {
		return e.Code
	}
	return ""
}
