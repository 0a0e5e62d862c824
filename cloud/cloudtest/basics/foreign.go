package basics

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

func foreignCases() []fixture.Case {
	return []fixture.Case{
		{Number: 12, Name: "deleting twice succeeds", Run: deleteTwice},
		{Number: 13, Name: "a foreign snapshot is not deleted, and no request is sent", Run: deleteForeign},
		{Number: 14, Name: "a snapshot in use or locked is not deleted, without a loop", Run: deleteHeld},
		{Number: 34, Name: "a pending snapshot is deleted eventually", Run: deletePending},
		{Number: 38, Name: "a snapshot without its tags is foreign", Run: tagsStripped},
	}
}

func deleteTwice(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	made := f.Ready(session, f.Volume("data"))
	for range 2 {
		if err := session.Snapshots.DeleteSnapshot(f.Context(), made.Ref, f.Owner); err != nil {
			f.Fatalf("deleting: %v", err)
		}
		f.Clock.Step(time.Minute)
	}
	if left := f.Owned(f.Owner, made.Name); len(left) > 0 {
		f.Errorf("still there: %v", left)
	}

	lost := f.Ready(session, f.Volume("other"))
	f.Script.Add(faults.Fault{Op: faults.OpDeleteSnapshot, Kind: faults.DropAfter})
	f.WantClass(session.Snapshots.DeleteSnapshot(f.Context(), lost.Ref, f.Owner), cloud.ClassAmbiguous)
	f.Clock.Step(time.Minute)
	if err := session.Snapshots.DeleteSnapshot(f.Context(), lost.Ref, f.Owner); err != nil {
		f.Errorf("deleting again after a lost response: %v", err)
	}
	if left := f.Owned(f.Owner, lost.Name); len(left) > 0 {
		f.Errorf("still there: %v", left)
	}
}

func deleteForeign(f *fixture.Fixture) {
	session, volume := f.Session(fixture.Options{}), f.Volume("data")
	theirs := f.Ensure(f.Theirs(), f.SpecOf(f.OtherHub(), volume, "0"))
	otherApp := cloud.Owner{Hub: f.Owner.Hub, App: "c0ffee00-0000-4000-8000-000000000001"}
	f.Clock.Step(30 * time.Minute)
	theirApp := f.Ensure(session, f.SpecOf(otherApp, volume, "1"))
	f.Clock.Step(10 * time.Minute)
	before := f.Store.Snapshots()
	for _, ref := range []cloud.SnapshotRef{f.ForeignSnapshot(f), theirs.Ref, theirApp.Ref} {
		wantForeign(f, session.Snapshots.DeleteSnapshot(f.Context(), ref, f.Owner))
		wantForeign(f, session.Snapshots.DeleteSnapshot(f.Context(), ref, cloud.Owner{}))
	}
	f.WantCount(faults.OpDeleteSnapshot, 0)
	if got := len(f.Store.Snapshots()); got != len(before)+1 {
		f.Errorf("%d snapshots are left of %d", got, len(before)+1)
	}
	if err := session.Snapshots.DeleteSnapshot(f.Context(), theirApp.Ref, cloud.Owner{Hub: f.Owner.Hub}); err != nil {
		f.Errorf("the hub deletes what its application made: %v", err)
	}
}

// wantForeign fails unless err says that the object belongs to another owner.
func wantForeign(f *fixture.Fixture, err error) {
	f.Helper()
	f.WantClass(err, cloud.ClassDenied)
	if code := fixture.CodeOf(err); code != cloud.CodeForeign {
		f.Fatalf("code %q, want %q", code, cloud.CodeForeign)
	}
}

func deleteHeld(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	for name, hold := range map[string]func(*fake.Snapshot, bool){
		"used":   func(snapshot *fake.Snapshot, held bool) { snapshot.Used = held },
		"locked": func(snapshot *fake.Snapshot, held bool) { snapshot.Locked = held },
	} {
		made := f.Ready(session, f.Volume(name))
		f.Store.EditSnapshot(made.Ref.ID, func(snapshot *fake.Snapshot) { hold(snapshot, true) })
		before := f.Script.Count(faults.OpAny)
		f.WantClass(session.Snapshots.DeleteSnapshot(f.Context(), made.Ref, f.Owner), cloud.ClassInUse, cloud.ClassLocked)
		if sent := f.Script.Count(faults.OpAny) - before; sent > 4 {
			f.Errorf("%s: %d requests", name, sent)
		}
		f.One(made.Name)
		f.Store.EditSnapshot(made.Ref.ID, func(snapshot *fake.Snapshot) { hold(snapshot, false) })
		if err := session.Snapshots.DeleteSnapshot(f.Context(), made.Ref, f.Owner); err != nil {
			f.Errorf("deleting after the %s hold ended: %v", name, err)
		}
	}
}

func deletePending(f *fixture.Fixture) {
	session, volume := f.Session(fixture.Options{}), f.Volume("data")
	f.Pace(fake.Pace{Taken: 20 * time.Second, Ready: 5 * time.Minute})
	spec := f.Spec(volume, "0")
	ref := f.Ensure(session, spec).Ref
	for range 40 {
		if err := session.Snapshots.DeleteSnapshot(f.Context(), ref, f.Owner); err != nil {
			f.WantClass(err, cloud.ClassInUse, cloud.ClassTransient, cloud.ClassLocked)
		}
		f.Clock.Step(15 * time.Second)
	}
	if left := f.Owned(f.Owner, spec.Name); len(left) > 0 {
		f.Errorf("still there after ten minutes: %v", left)
	}
	_, err := session.Snapshots.GetSnapshot(f.Context(), ref)
	f.WantClass(err, cloud.ClassNotFound)
}

func tagsStripped(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	stripped, kept := f.Ready(session, f.Volume("data")), f.Ready(session, f.Volume("other"))
	f.Store.EditSnapshot(stripped.Ref.ID, func(snapshot *fake.Snapshot) { snapshot.Tags = nil })
	if diff := cmp.Diff([]string{kept.Ref.ID}, f.IDs(session, f.Owner)); diff != "" {
		f.Errorf("IDs (-want +got):\n%s", diff)
	}
	wantForeign(f, session.Snapshots.DeleteSnapshot(f.Context(), stripped.Ref, f.Owner))
	f.WantCount(faults.OpDeleteSnapshot, 0)
	if got := f.Get(session, stripped.Ref); f.Owner.Owns(got.Tags) {
		f.Errorf("tags %v of what has none", got.Tags)
	}
}
