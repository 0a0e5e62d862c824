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

func copyToRegion(s *fixture.Fixture) {
	here := s.Session(fixture.Options{})
	volume := s.Volume("data")
	s.Pace(fake.Pace{Taken: 10 * time.Second, Ready: 4 * time.Minute})
	source := s.Ready(here, volume)
	c := s.NewCopyClient(source.Ref)
	c.Step()
	if c.Err != nil {
		s.Fatalf("copying: %v", c.Err)
	}
	first := c.Snapshot
	if s.Cloud != nil && first.State != cloud.StateCreating && first.State != cloud.StateTaken {
		s.Errorf("state %q of a copy that has just begun", first.State)
	}
	c.Settle()
	got := s.Get(c.Session, c.Snapshot.Ref)
	if got.Ref != first.Ref || got.State != cloud.StateReady || got.Ref.Region != s.Regions[1] || got.SizeBytes != source.SizeBytes || got.SourceHandle != source.Ref.ID {
		s.Errorf("copy %+v, want %q ready in %q with %d bytes, of %q", got, first.Ref.ID, s.Regions[1], source.SizeBytes, source.Ref.ID)
	}
	if !s.Owner.Owns(got.Tags) || got.Tags[cloud.TagCopyOf] != source.Ref.ID || got.Tags[cloud.TagName] != c.Spec.Name {
		s.Errorf("tags %v", got.Tags)
	}
	s.One(c.Spec.Name)
	s.WantCount(faults.OpCopySnapshot, 1)
	if diff := cmp.Diff([]string{got.Ref.ID}, s.IDs(c.Session, s.Owner)); diff != "" {
		s.Errorf("IDs in the second region (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{source.Ref.ID}, s.IDs(here, s.Owner)); diff != "" {
		s.Errorf("IDs in the first region (-want +got):\n%s", diff)
	}

	other := s.Ready(here, s.Volume("other"))
	_, err := c.Session.Snapshots.EnsureCopy(s.Context(), cloud.CopySpec{Name: c.Spec.Name, Source: other.Ref, Tags: c.Spec.Tags, MaySend: true})
	s.WantClass(err, cloud.ClassConflict)
	s.Store.RemoveSnapshot(other.Ref.ID)
	_, err = c.Session.Snapshots.EnsureCopy(s.Context(), cloud.CopySpec{Name: c.Spec.Name + "x", Source: other.Ref, Tags: c.Spec.Tags, MaySend: true})
	s.WantClass(err, cloud.ClassNotFound)
}

func copyByLocation(s *fixture.Fixture) {
	session, volume := s.Session(fixture.Options{}), s.Volume("data")
	spec := s.Spec(volume, "0")
	spec.Locations = []string{s.Regions[1]}
	made := s.Ensure(session, spec)
	s.Clock.Step(10 * time.Minute)
	if got := s.Get(session, made.Ref); !slices.Equal(got.Locations, spec.Locations) {
		s.Errorf("stored in %v, want %v", got.Locations, spec.Locations)
	}
	if there := s.Get(s.Session(fixture.Options{Region: 1}), made.Ref); there.State != cloud.StateReady {
		s.Errorf("state %q seen from the second region", there.State)
	}
	c := s.NewCopyClient(made.Ref)
	c.Step()
	s.WantClass(c.Err, cloud.ClassUnsupported)
	s.WantCount(faults.OpCopySnapshot, 0)
}

func copySourceGone(s *fixture.Fixture) {
	here, volume := s.Session(fixture.Options{}), s.Volume("data")
	s.Pace(fake.Pace{Ready: 5 * time.Minute})
	source := s.Ready(here, volume)
	c := s.NewCopyClient(source.Ref)
	c.Step()
	if c.Err != nil {
		s.Fatalf("copying: %v", c.Err)
	}
	s.Clock.Step(time.Minute)
	s.Store.RemoveSnapshot(source.Ref.ID)
	s.Clock.Step(10 * time.Minute)
	got := s.Get(c.Session, c.Snapshot.Ref)
	if got.State != cloud.StateFailed || got.Message == "" {
		s.Errorf("state %q with message %q of a copy whose source is gone, want %q with one", got.State, got.Message, cloud.StateFailed)
	}
	c.Step()
	c.Step() // The failed one is seen, then another is asked for.
	for range 3 {
		s.Clock.Step(time.Minute)
		c.Step()
	}
	s.WantClass(c.Stopped, cloud.ClassNotFound)
}
