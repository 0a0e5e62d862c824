package basics

import (
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
)

func listCases() []fixture.Case {
	return []fixture.Case{
		{Number: 9, Name: "a list of several pages is complete", Run: listPages},
		{Number: 10, Name: "a list is correct while snapshots are created and deleted", Run: listWhileChanging},
		{Number: 11, Name: "an unknown snapshot is NotFound", Run: getUnknown},
		{Number: 28, Name: "an incomplete list is an error", Run: listIncomplete},
		{Number: 37, Name: "what others deleted is gone without an error", Run: deletedByOthers},
		{Number: 42, Name: "two hubs in one account see their own snapshots", Run: twoHubs},
	}
}

func listPages(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	s.Pages()
	if got := s.IDs(session, s.Owner); len(got) != 0 {
		s.Errorf("an empty cloud has %v", got)
	}
	want := s.Several(session, s.Owner, 5)
	s.Several(s.Theirs(), s.OtherHub(), 2)
	s.ForeignSnapshot(s)
	before := s.Script.Count(faults.OpListSnapshots)
	if diff := cmp.Diff(want, s.IDs(session, s.Owner)); diff != "" {
		s.Errorf("IDs of the application (-want +got):\n%s", diff)
	}
	if pages := s.Script.Count(faults.OpListSnapshots) - before; s.PageSize != nil && pages < 3 {
		s.Errorf("%d pages were read; the case needs three", pages)
	}
	if diff := cmp.Diff(want, s.IDs(session, cloud.Owner{Hub: s.Owner.Hub})); diff != "" {
		s.Errorf("IDs of the hub (-want +got):\n%s", diff)
	}
	if got := s.IDs(session, cloud.Owner{Hub: s.Owner.Hub, App: "another"}); len(got) != 0 {
		s.Errorf("another application has %v", got)
	}
	for _, err := range session.Snapshots.ListSnapshots(s.Context(), s.Owner) {
		if err != nil {
			s.Errorf("listing the first: %v", err)
		}
		break // Who stops early is not called again.
	}
}

func listWhileChanging(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	s.Pages()
	stay := map[string]int{}
	for _, id := range s.Several(session, s.Owner, 7) {
		stay[id] = 0
	}
	removed := false
	for snapshot, err := range session.Snapshots.ListSnapshots(s.Context(), s.Owner) {
		if err != nil {
			s.Fatalf("listing while things change: %v", err)
		}
		if _, known := stay[snapshot.Ref.ID]; known {
			stay[snapshot.Ref.ID]++
		}
		if !removed {
			removed = true
			victim := slices.Sorted(maps.Keys(stay))[3]
			delete(stay, victim)
			s.Store.RemoveSnapshot(victim)
			s.Ensure(session, s.Spec(s.Volume("new"), "0"))
		}
	}
	for id, times := range stay {
		if times != 1 {
			s.Errorf("%q, which was there all the time, was listed %d times", id, times)
		}
	}
}

func getUnknown(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	ref := s.Ready(session, s.Volume("data")).Ref
	s.Store.RemoveSnapshot(ref.ID)
	_, err := session.Snapshots.GetSnapshot(s.Context(), ref)
	s.WantClass(err, cloud.ClassNotFound)
}

func listIncomplete(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	s.Pages()
	want := s.Several(session, s.Owner, 5)
	skip := 1
	if s.PageSize == nil {
		skip = 0
	}
	for _, fault := range []faults.Fault{
		{Kind: faults.DropBefore}, {Kind: faults.DropAfter}, {Kind: faults.Truncate}, {Kind: faults.Garble},
		{Kind: faults.Refuse, Answer: s.Refusal(cloud.ClassTransient, faults.OpListSnapshots, 0)},
		{Kind: faults.Refuse, Answer: s.Refusal(cloud.ClassThrottled, faults.OpListSnapshots, 20*time.Second)},
		{Kind: faults.Refuse, Answer: s.Refusal(cloud.ClassDenied, faults.OpListSnapshots, 0)},
	} {
		fault.Op, fault.Skip, fault.Times = faults.OpListSnapshots, skip, -1
		s.Script.Add(fault)
		got, err := s.List(session, s.Owner)
		if err == nil {
			s.Errorf("%s: a list of %d of 5 without error", fault.Kind, len(got))
		}
		if class := cloud.ClassOf(err); fault.Kind != faults.Refuse && class != cloud.ClassTransient {
			s.Errorf("%s: class %q of %v, want %q", fault.Kind, class, err, cloud.ClassTransient)
		}
		s.Script.Clear()
	}
	if diff := cmp.Diff(want, s.IDs(session, s.Owner)); diff != "" {
		s.Errorf("IDs when nothing is wrong any more (-want +got):\n%s", diff)
	}
}

func deletedByOthers(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	gone, stays := s.Ready(session, s.Volume("data")).Ref, s.Ready(session, s.Volume("other")).Ref
	s.Store.RemoveSnapshot(gone.ID)
	if diff := cmp.Diff([]string{stays.ID}, s.IDs(session, s.Owner)); diff != "" {
		s.Errorf("IDs (-want +got):\n%s", diff)
	}
	if err := session.Snapshots.DeleteSnapshot(s.Context(), gone, s.Owner); err != nil {
		s.Errorf("deleting what is gone: %v", err)
	}
	_, err := session.Snapshots.GetSnapshot(s.Context(), gone)
	s.WantClass(err, cloud.ClassNotFound)
}

func twoHubs(s *fixture.Fixture) {
	session, other, volume := s.Session(fixture.Options{}), s.Theirs(), s.Volume("data")
	ours := s.Ensure(session, s.Spec(volume, "0"))
	s.Clock.Step(30 * time.Minute)
	theirs := s.Ensure(other, s.SpecOf(s.OtherHub(), volume, "0"))
	if ours.Ref == theirs.Ref {
		s.Fatalf("two hubs have the same snapshot %q", ours.Ref.ID)
	}
	for owner, want := range map[cloud.Owner]string{s.Owner: ours.Ref.ID, s.OtherHub(): theirs.Ref.ID} {
		if diff := cmp.Diff([]string{want}, s.IDs(session, owner)); diff != "" {
			s.Errorf("IDs of hub %s (-want +got):\n%s", owner.Hub, diff)
		}
	}
	foreign(s, session.Snapshots.DeleteSnapshot(s.Context(), theirs.Ref, s.Owner))

	// Both hubs use one name: the result is another snapshot or a Conflict, never the
	// other hub's snapshot.
	s.Clock.Step(30 * time.Minute)
	same := s.SpecOf(s.OtherHub(), volume, "1")
	same.Name = ours.Name
	if got, err := other.Snapshots.EnsureSnapshot(s.Context(), same); err != nil {
		s.WantClass(err, cloud.ClassConflict)
	} else if got.Ref == ours.Ref || !s.OtherHub().Owns(got.Tags) {
		s.Errorf("the other hub got %q with tags %v", got.Ref.ID, got.Tags)
	}
	s.One(ours.Name)
}
