package basics

import (
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

func volumeCases() []fixture.Case {
	return []fixture.Case{
		{Number: 17, Name: "ensuring a volume twice creates one, of its class", Run: volumeTwice},
		{Number: 18, Name: "a volume may be larger than its snapshot, not smaller", Run: volumeSizes},
		{Number: 19, Name: "a volume handle is returned unchanged", Run: handleComesBack},
		{Number: 20, Name: "classes are within the provider's ranges", Run: classesElsewhere},
	}
}

// restored returns the volumes in the cloud with this name.
func restored(s *fixture.Fixture, name string) []fake.Volume {
	var out []fake.Volume
	for _, volume := range s.Store.Volumes() {
		if volume.Tags[cloud.TagName] == name {
			out = append(out, volume)
		}
	}
	return out
}

func volumeTwice(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	from := s.Ready(session, s.Volume("data"))
	spec := s.VolumeSpec(from.Ref, "twice")
	s.Script.Add(faults.Fault{Op: faults.OpCreateVolume, Kind: faults.DropAfter})
	_, err := session.Volumes.EnsureVolume(s.Context(), spec)
	if err != nil { // A session may have looked once more and found it.
		s.WantClass(err, cloud.ClassAmbiguous)
	}
	s.Clock.Step(20 * time.Second)
	first, err := s.Session(fixture.Options{}).Volumes.EnsureVolume(s.Context(), spec)
	if err != nil {
		s.Fatalf("ensuring after a lost response: %v", err)
	}
	s.Clock.Step(time.Minute)
	got, err := session.Volumes.EnsureVolume(s.Context(), spec)
	if err != nil || got.Ref != first.Ref {
		s.Fatalf("ensured %q, then %q, %v", first.Ref.Handle, got.Ref.Handle, err)
	}
	if all := restored(s, spec.Name); len(all) != 1 || !strings.EqualFold(all[0].ID, got.Ref.Handle) {
		s.Fatalf("the cloud has %d volumes of one name: %v", len(all), all)
	}
	want := s.ClassVolume
	if got.State != cloud.StateReady || got.Ref.Zone != s.Zones[0] || got.Ref.Region != s.Regions[0] || got.SizeBytes != 40*fixture.GiB || got.UID == "" ||
		got.Type != want.Type || got.IOPS != want.IOPS || got.Throughput != want.Throughput || got.Encrypted != want.Encrypted {
		s.Errorf("volume %+v, want it ready in zone %q with 40 GiB and as %+v", got, s.Zones[0], want)
	}
	if !s.Owner.Owns(got.Tags) || got.Tags[cloud.TagName] != spec.Name || got.Tags[cloud.TagClaim] != "data-shop-0" {
		s.Errorf("tags %v", got.Tags)
	}
	deleteVolume(s, session, got.Ref)
}

// deleteVolume deletes a restored volume: refused while it is attached, then deleted
// twice.
func deleteVolume(s *fixture.Fixture, session cloud.Session, ref cloud.VolumeRef) {
	s.Helper()
	s.Store.EditVolume(ref.Handle, func(v *fake.Volume) { v.Attached = true })
	s.WantClass(session.Volumes.DeleteVolume(s.Context(), ref, s.Owner), cloud.ClassInUse)
	s.Store.EditVolume(ref.Handle, func(v *fake.Volume) { v.Attached = false })
	foreign(s, session.Volumes.DeleteVolume(s.Context(), ref, s.OtherHub()))
	for range 2 {
		if err := session.Volumes.DeleteVolume(s.Context(), ref, s.Owner); err != nil {
			s.Errorf("deleting the volume: %v", err)
		}
		s.Clock.Step(time.Minute)
	}
	_, err := session.Volumes.DescribeVolume(s.Context(), ref)
	s.WantClass(err, cloud.ClassNotFound)
}

func volumeSizes(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	from := s.Ready(session, s.Volume("data"))
	for kind, size := range map[string]int64{"same": 20 * fixture.GiB, "larger": 64 * fixture.GiB, "unsaid": 0} {
		spec := s.VolumeSpec(from.Ref, kind)
		spec.SizeBytes = size
		got, err := session.Volumes.EnsureVolume(s.Context(), spec)
		if err != nil {
			s.Fatalf("%s: %v", kind, err)
		}
		if want := max(size, 20*fixture.GiB); got.SizeBytes != want {
			s.Errorf("%s: %d bytes, want %d", kind, got.SizeBytes, want)
		}
		s.Clock.Step(15 * time.Minute)
	}
	before := s.Script.Count(faults.OpCreateVolume)
	spec := s.VolumeSpec(from.Ref, "smaller")
	spec.SizeBytes = 19 * fixture.GiB
	_, err := session.Volumes.EnsureVolume(s.Context(), spec)
	s.WantClass(err, cloud.ClassInvalid)
	s.WantCount(faults.OpCreateVolume, before)

	s.Store.RemoveSnapshot(from.Ref.ID)
	_, err = session.Volumes.EnsureVolume(s.Context(), s.VolumeSpec(from.Ref, "orphan"))
	s.WantClass(err, cloud.ClassNotFound)
}

// handleComesBack tests the provider's part; cloud/csi tests the handles of
// PersistentVolumes.
func handleComesBack(s *fixture.Fixture) {
	session, volume := s.Session(fixture.Options{}), s.Volume("data")
	got, err := session.Volumes.DescribeVolume(s.Context(), volume)
	if err != nil || got.Ref != volume || got.SizeBytes != 20*fixture.GiB || got.State != cloud.StateReady {
		s.Fatalf("described %+v, %v; want %+v ready with 20 GiB", got, err, volume)
	}
	from := s.Ready(session, volume)
	made, err := session.Volumes.EnsureVolume(s.Context(), s.VolumeSpec(from.Ref, "handle"))
	if err != nil {
		s.Fatalf("restoring: %v", err)
	}
	s.Clock.Step(time.Minute)
	again, err := session.Volumes.DescribeVolume(s.Context(), made.Ref)
	if err != nil || again.Ref != made.Ref || again.UID != made.UID || again.UID == got.UID {
		s.Errorf("restored %+v, described %+v, %v", made.Ref, again, err)
	}
}

func classesElsewhere(s *fixture.Fixture) {
	s.Skip("spare: covered by cloud/csi, where no provider is needed")
}
