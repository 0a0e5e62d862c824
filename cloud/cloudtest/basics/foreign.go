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

func deleteTwice(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	made := s.Ready(session, s.Volume("data"))
	for range 2 {
		if err := session.Snapshots.DeleteSnapshot(s.Context(), made.Ref, s.Owner); err != nil {
			s.Fatalf("deleting: %v", err)
		}
		s.Clock.Step(time.Minute)
	}
	if left := s.Owned(s.Owner, made.Name); len(left) > 0 {
		s.Errorf("still there: %v", left)
	}

	lost := s.Ready(session, s.Volume("other"))
	s.Script.Add(faults.Fault{Op: faults.OpDeleteSnapshot, Kind: faults.DropAfter})
	s.WantClass(session.Snapshots.DeleteSnapshot(s.Context(), lost.Ref, s.Owner), cloud.ClassAmbiguous)
	s.Clock.Step(time.Minute)
	if err := session.Snapshots.DeleteSnapshot(s.Context(), lost.Ref, s.Owner); err != nil {
		s.Errorf("deleting again after a lost response: %v", err)
	}
	if left := s.Owned(s.Owner, lost.Name); len(left) > 0 {
		s.Errorf("still there: %v", left)
	}
}

func deleteForeign(s *fixture.Fixture) {
	session, volume := s.Session(fixture.Options{}), s.Volume("data")
	theirs := s.Ensure(s.Theirs(), s.SpecOf(s.OtherHub(), volume, "0"))
	otherApp := cloud.Owner{Hub: s.Owner.Hub, App: "c0ffee00-0000-4000-8000-000000000001"}
	s.Clock.Step(30 * time.Minute)
	theirApp := s.Ensure(session, s.SpecOf(otherApp, volume, "1"))
	s.Clock.Step(10 * time.Minute)
	before := s.Store.Snapshots()
	for _, ref := range []cloud.SnapshotRef{s.ForeignSnapshot(s), theirs.Ref, theirApp.Ref} {
		foreign(s, session.Snapshots.DeleteSnapshot(s.Context(), ref, s.Owner))
		foreign(s, session.Snapshots.DeleteSnapshot(s.Context(), ref, cloud.Owner{}))
	}
	s.WantCount(faults.OpDeleteSnapshot, 0)
	foreign(s, session.Volumes.DeleteVolume(s.Context(), volume, s.Owner))
	s.WantCount(faults.OpDeleteVolume, 0)
	if got := len(s.Store.Snapshots()); got != len(before)+1 {
		s.Errorf("%d snapshots are left of %d", got, len(before)+1)
	}
	if err := session.Snapshots.DeleteSnapshot(s.Context(), theirApp.Ref, cloud.Owner{Hub: s.Owner.Hub}); err != nil {
		s.Errorf("the hub deletes what its application made: %v", err)
	}
}

// foreign fails unless err says that the object belongs to another owner.
func foreign(s *fixture.Fixture, err error) {
	s.Helper()
	s.WantClass(err, cloud.ClassDenied)
	if code := fixture.CodeOf(err); code != cloud.CodeForeign {
		s.Fatalf("code %q, want %q", code, cloud.CodeForeign)
	}
}

func deleteHeld(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	for name, hold := range map[string]func(*fake.Snapshot, bool){
		"used":   func(snapshot *fake.Snapshot, held bool) { snapshot.Used = held },
		"locked": func(snapshot *fake.Snapshot, held bool) { snapshot.Locked = held },
	} {
		made := s.Ready(session, s.Volume(name))
		s.Store.EditSnapshot(made.Ref.ID, func(snapshot *fake.Snapshot) { hold(snapshot, true) })
		before := s.Script.Count(faults.OpAny)
		s.WantClass(session.Snapshots.DeleteSnapshot(s.Context(), made.Ref, s.Owner), cloud.ClassInUse, cloud.ClassLocked)
		if sent := s.Script.Count(faults.OpAny) - before; sent > 4 {
			s.Errorf("%s: %d requests", name, sent)
		}
		s.One(made.Name)
		s.Store.EditSnapshot(made.Ref.ID, func(snapshot *fake.Snapshot) { hold(snapshot, false) })
		if err := session.Snapshots.DeleteSnapshot(s.Context(), made.Ref, s.Owner); err != nil {
			s.Errorf("%s no more: %v", name, err)
		}
	}
}

func deletePending(s *fixture.Fixture) {
	session, volume := s.Session(fixture.Options{}), s.Volume("data")
	s.Pace(fake.Pace{Taken: 20 * time.Second, Ready: 5 * time.Minute})
	spec := s.Spec(volume, "0")
	ref := s.Ensure(session, spec).Ref
	for range 40 {
		if err := session.Snapshots.DeleteSnapshot(s.Context(), ref, s.Owner); err != nil {
			s.WantClass(err, cloud.ClassInUse, cloud.ClassTransient, cloud.ClassLocked)
		}
		s.Clock.Step(15 * time.Second)
	}
	if left := s.Owned(s.Owner, spec.Name); len(left) > 0 {
		s.Errorf("still there after ten minutes: %v", left)
	}
	_, err := session.Snapshots.GetSnapshot(s.Context(), ref)
	s.WantClass(err, cloud.ClassNotFound)
}

func tagsStripped(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	stripped, kept := s.Ready(session, s.Volume("data")), s.Ready(session, s.Volume("other"))
	s.Store.EditSnapshot(stripped.Ref.ID, func(snapshot *fake.Snapshot) { snapshot.Tags = nil })
	if diff := cmp.Diff([]string{kept.Ref.ID}, s.IDs(session, s.Owner)); diff != "" {
		s.Errorf("IDs (-want +got):\n%s", diff)
	}
	foreign(s, session.Snapshots.DeleteSnapshot(s.Context(), stripped.Ref, s.Owner))
	s.WantCount(faults.OpDeleteSnapshot, 0)
	if got := s.Get(session, stripped.Ref); s.Owner.Owns(got.Tags) {
		s.Errorf("tags %v of what has none", got.Tags)
	}
}
