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

func listPages(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	f.Pages()
	if got := f.IDs(session, f.Owner); len(got) != 0 {
		f.Errorf("an empty cloud has %v", got)
	}
	want := f.Several(session, f.Owner, 5)
	f.Several(f.Theirs(), f.OtherHub(), 2)
	f.ForeignSnapshot(f)
	before := f.Script.Count(faults.OpListSnapshots)
	if diff := cmp.Diff(want, f.IDs(session, f.Owner)); diff != "" {
		f.Errorf("IDs of the application (-want +got):\n%s", diff)
	}
	if pages := f.Script.Count(faults.OpListSnapshots) - before; f.PageSize != nil && pages < 3 {
		f.Errorf("%d pages were read; the case needs three", pages)
	}
	if diff := cmp.Diff(want, f.IDs(session, cloud.Owner{Hub: f.Owner.Hub})); diff != "" {
		f.Errorf("IDs of the hub (-want +got):\n%s", diff)
	}
	if got := f.IDs(session, cloud.Owner{Hub: f.Owner.Hub, App: "another"}); len(got) != 0 {
		f.Errorf("another application has %v", got)
	}
	for _, err := range session.Snapshots.ListSnapshots(f.Context(), f.Owner) {
		if err != nil {
			f.Errorf("listing the first: %v", err)
		}
		break // Who stops early is not called again.
	}
}

func listWhileChanging(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	f.Pages()
	stay := map[string]int{}
	for _, id := range f.Several(session, f.Owner, 7) {
		stay[id] = 0
	}
	removed := false
	for snapshot, err := range session.Snapshots.ListSnapshots(f.Context(), f.Owner) {
		if err != nil {
			f.Fatalf("listing while things change: %v", err)
		}
		if _, known := stay[snapshot.Ref.ID]; known {
			stay[snapshot.Ref.ID]++
		}
		if !removed {
			removed = true
			victim := slices.Sorted(maps.Keys(stay))[3]
			delete(stay, victim)
			f.Store.RemoveSnapshot(victim)
			f.Ensure(session, f.Spec(f.Volume("new"), "0"))
		}
	}
	for id, times := range stay {
		if times != 1 {
			f.Errorf("%q, which was there all the time, was listed %d times", id, times)
		}
	}
}

func getUnknown(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	ref := f.Ready(session, f.Volume("data")).Ref
	f.Store.RemoveSnapshot(ref.ID)
	_, err := session.Snapshots.GetSnapshot(f.Context(), ref)
	f.WantClass(err, cloud.ClassNotFound)
}

func listIncomplete(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	f.Pages()
	want := f.Several(session, f.Owner, 5)
	skip := 1
	if f.PageSize == nil {
		skip = 0
	}
	for _, fault := range []faults.Fault{
		{Kind: faults.DropBefore}, {Kind: faults.DropAfter}, {Kind: faults.Truncate}, {Kind: faults.Garble},
		{Kind: faults.Refuse, Answer: f.Refusal(cloud.ClassTransient, faults.OpListSnapshots, 0)},
		{Kind: faults.Refuse, Answer: f.Refusal(cloud.ClassThrottled, faults.OpListSnapshots, 20*time.Second)},
		{Kind: faults.Refuse, Answer: f.Refusal(cloud.ClassDenied, faults.OpListSnapshots, 0)},
	} {
		fault.Op, fault.Skip, fault.Times = faults.OpListSnapshots, skip, -1
		f.Script.Add(fault)
		got, err := f.List(session, f.Owner)
		if err == nil {
			f.Errorf("%s: a list of %d of 5 without error", fault.Kind, len(got))
		}
		if class := cloud.ClassOf(err); fault.Kind != faults.Refuse && class != cloud.ClassTransient {
			f.Errorf("%s: class %q of %v, want %q", fault.Kind, class, err, cloud.ClassTransient)
		}
		f.Script.Clear()
	}
	if diff := cmp.Diff(want, f.IDs(session, f.Owner)); diff != "" {
		f.Errorf("IDs when nothing is wrong any more (-want +got):\n%s", diff)
	}
}

func deletedByOthers(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	gone, stays := f.Ready(session, f.Volume("data")).Ref, f.Ready(session, f.Volume("other")).Ref
	f.Store.RemoveSnapshot(gone.ID)
	if diff := cmp.Diff([]string{stays.ID}, f.IDs(session, f.Owner)); diff != "" {
		f.Errorf("IDs (-want +got):\n%s", diff)
	}
	if err := session.Snapshots.DeleteSnapshot(f.Context(), gone, f.Owner); err != nil {
		f.Errorf("deleting what is gone: %v", err)
	}
	_, err := session.Snapshots.GetSnapshot(f.Context(), gone)
	f.WantClass(err, cloud.ClassNotFound)
}

func twoHubs(f *fixture.Fixture) {
	session, other, volume := f.Session(fixture.Options{}), f.Theirs(), f.Volume("data")
	ours := f.Ensure(session, f.Spec(volume, "0"))
	f.Clock.Step(30 * time.Minute)
	theirs := f.Ensure(other, f.SpecOf(f.OtherHub(), volume, "0"))
	if ours.Ref == theirs.Ref {
		f.Fatalf("two hubs have the same snapshot %q", ours.Ref.ID)
	}
	for owner, want := range map[cloud.Owner]string{f.Owner: ours.Ref.ID, f.OtherHub(): theirs.Ref.ID} {
		if diff := cmp.Diff([]string{want}, f.IDs(session, owner)); diff != "" {
			f.Errorf("IDs of hub %s (-want +got):\n%s", owner.Hub, diff)
		}
	}
	wantForeign(f, session.Snapshots.DeleteSnapshot(f.Context(), theirs.Ref, f.Owner))

	// Both hubs use one name: the result is another snapshot or a Conflict, never the
	// other hub's snapshot.
	f.Clock.Step(30 * time.Minute)
	same := f.SpecOf(f.OtherHub(), volume, "1")
	same.Name = ours.Name
	if got, err := other.Snapshots.EnsureSnapshot(f.Context(), same); err != nil {
		f.WantClass(err, cloud.ClassConflict)
	} else if got.Ref == ours.Ref || !f.OtherHub().Owns(got.Tags) {
		f.Errorf("the other hub got %q with tags %v", got.Ref.ID, got.Tags)
	}
	f.One(ours.Name)
}
