package basics

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

func copyCases() []fixture.Case {
	return []fixture.Case{
		{Number: 15, Name: "a copy in the second region has its own tags and states", Run: copyToRegion},
		{Number: 16, Name: "a snapshot is stored in the requested locations", Run: copyByLocation},
		{Number: 33, Name: "a copy fails when its source is deleted", Run: copySourceGone},
	}
}

func copyToRegion(f *fixture.Fixture) {
	here := f.Session(fixture.Options{})
	volume := f.Volume("data")
	f.Pace(fake.Pace{Taken: 10 * time.Second, Ready: 4 * time.Minute})
	source := f.Ready(here, volume)
	c := f.NewCopyClient(source.Ref)
	c.Step()
	if c.Err != nil {
		f.Fatalf("copying: %v", c.Err)
	}
	first := c.Snapshot
	if f.Cloud != nil && first.State != cloud.StateCreating && first.State != cloud.StateTaken {
		f.Errorf("state %q of a copy that has just begun", first.State)
	}
	c.Settle()
	got := f.Get(c.Session, c.Snapshot.Ref)
	if got.Ref != first.Ref || got.State != cloud.StateReady || got.Ref.Region != f.Regions[1] || got.SizeBytes != source.SizeBytes || got.SourceHandle != source.Ref.ID {
		f.Errorf("copy %+v, want %q ready in %q with %d bytes, of %q", got, first.Ref.ID, f.Regions[1], source.SizeBytes, source.Ref.ID)
	}
	if !f.Owner.Owns(got.Tags) || got.Tags[cloud.TagCopyOf] != source.Ref.ID || got.Tags[cloud.TagName] != c.Spec.Name {
		f.Errorf("tags %v", got.Tags)
	}
	f.One(c.Spec.Name)
	f.WantCount(faults.OpCopySnapshot, 1)
	if diff := cmp.Diff([]string{got.Ref.ID}, f.IDs(c.Session, f.Owner)); diff != "" {
		f.Errorf("IDs in the second region (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{source.Ref.ID}, f.IDs(here, f.Owner)); diff != "" {
		f.Errorf("IDs in the first region (-want +got):\n%s", diff)
	}

	other := f.Ready(here, f.Volume("other"))
	_, err := c.Session.Snapshots.EnsureCopy(f.Context(), cloud.CopySpec{Name: c.Spec.Name, Source: other.Ref, Tags: c.Spec.Tags, MaySend: true})
	f.WantClass(err, cloud.ClassConflict)
	f.Store.RemoveSnapshot(other.Ref.ID)
	_, err = c.Session.Snapshots.EnsureCopy(f.Context(), cloud.CopySpec{Name: c.Spec.Name + "x", Source: other.Ref, Tags: c.Spec.Tags, MaySend: true})
	f.WantClass(err, cloud.ClassNotFound)
}

func copyByLocation(f *fixture.Fixture) {
	session, volume := f.Session(fixture.Options{}), f.Volume("data")
	spec := f.Spec(volume, "0")
	spec.Locations = []string{f.Regions[1]}
	made := f.Ensure(session, spec)
	f.Clock.Step(10 * time.Minute)
	if got := f.Get(session, made.Ref); !slices.Equal(got.Locations, spec.Locations) {
		f.Errorf("stored in %v, want %v", got.Locations, spec.Locations)
	}
	if there := f.Get(f.Session(fixture.Options{Region: 1}), made.Ref); there.State != cloud.StateReady {
		f.Errorf("state %q seen from the second region", there.State)
	}
	c := f.NewCopyClient(made.Ref)
	c.Step()
	f.WantClass(c.Err, cloud.ClassUnsupported)
	f.WantCount(faults.OpCopySnapshot, 0)
}

func copySourceGone(f *fixture.Fixture) {
	here, volume := f.Session(fixture.Options{}), f.Volume("data")
	f.Pace(fake.Pace{Ready: 5 * time.Minute})
	source := f.Ready(here, volume)
	c := f.NewCopyClient(source.Ref)
	c.Step()
	if c.Err != nil {
		f.Fatalf("copying: %v", c.Err)
	}
	f.Clock.Step(time.Minute)
	f.Store.RemoveSnapshot(source.Ref.ID)
	f.Clock.Step(10 * time.Minute)
	got := f.Get(c.Session, c.Snapshot.Ref)
	if got.State != cloud.StateFailed || got.Message == "" {
		f.Errorf("state %q with message %q of a copy whose source is gone, want %q with one", got.State, got.Message, cloud.StateFailed)
	}
	c.Step()
	c.Step() // The failed one is seen, then another is asked for.
	for range 3 {
		f.Clock.Step(time.Minute)
		c.Step()
	}
	f.WantClass(c.Stopped, cloud.ClassNotFound)
}
