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
func restored(f *fixture.Fixture, name string) []fake.Volume {
	var out []fake.Volume
	for _, volume := range f.Store.Volumes() {
		if volume.Tags[cloud.TagName] == name {
			out = append(out, volume)
		}
	}
	return out
}

func volumeTwice(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	from := f.Ready(session, f.Volume("data"))
	spec := f.VolumeSpec(from.Ref, "twice")
	f.Script.Add(faults.Fault{Op: faults.OpCreateVolume, Kind: faults.DropAfter})
	_, err := session.Volumes.EnsureVolume(f.Context(), spec)
	if err != nil { // A session may have looked once more and found it.
		f.WantClass(err, cloud.ClassAmbiguous)
	}
	f.Clock.Step(20 * time.Second)
	first, err := f.Session(fixture.Options{}).Volumes.EnsureVolume(f.Context(), spec)
	if err != nil {
		f.Fatalf("ensuring after a lost response: %v", err)
	}
	f.Clock.Step(time.Minute)
	got, err := session.Volumes.EnsureVolume(f.Context(), spec)
	if err != nil || got.Ref != first.Ref {
		f.Fatalf("ensured %q, then %q, %v", first.Ref.Handle, got.Ref.Handle, err)
	}
	if all := restored(f, spec.Name); len(all) != 1 || !strings.EqualFold(all[0].ID, got.Ref.Handle) {
		f.Fatalf("the cloud has %d volumes of one name: %v", len(all), all)
	}
	want := f.ClassVolume
	if got.State != cloud.StateReady || got.Ref.Zone != f.Zones[0] || got.Ref.Region != f.Regions[0] || got.SizeBytes != 40*fixture.GiB || got.UID == "" ||
		got.Type != want.Type || got.IOPS != want.IOPS || got.Throughput != want.Throughput || got.Encrypted != want.Encrypted {
		f.Errorf("volume %+v, want it ready in zone %q with 40 GiB and as %+v", got, f.Zones[0], want)
	}
	if !f.Owner.Owns(got.Tags) || got.Tags[cloud.TagName] != spec.Name || got.Tags[cloud.TagClaim] != "data-shop-0" {
		f.Errorf("tags %v", got.Tags)
	}
	deleteVolume(f, session, got.Ref)
}

// deleteVolume deletes a restored volume: refused while it is attached, then deleted
// twice.
func deleteVolume(f *fixture.Fixture, session cloud.Session, ref cloud.VolumeRef) {
	f.Helper()
	f.Store.EditVolume(ref.Handle, func(v *fake.Volume) { v.Attached = true })
	f.WantClass(session.Volumes.DeleteVolume(f.Context(), ref, f.Owner), cloud.ClassInUse)
	f.Store.EditVolume(ref.Handle, func(v *fake.Volume) { v.Attached = false })
	wantForeign(f, session.Volumes.DeleteVolume(f.Context(), ref, f.OtherHub()))
	for range 2 {
		if err := session.Volumes.DeleteVolume(f.Context(), ref, f.Owner); err != nil {
			f.Errorf("deleting the volume: %v", err)
		}
		f.Clock.Step(time.Minute)
	}
	_, err := session.Volumes.DescribeVolume(f.Context(), ref)
	f.WantClass(err, cloud.ClassNotFound)
}

func volumeSizes(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	from := f.Ready(session, f.Volume("data"))
	for kind, size := range map[string]int64{"same": 20 * fixture.GiB, "larger": 64 * fixture.GiB, "unsaid": 0} {
		spec := f.VolumeSpec(from.Ref, kind)
		spec.SizeBytes = size
		got, err := session.Volumes.EnsureVolume(f.Context(), spec)
		if err != nil {
			f.Fatalf("%s: %v", kind, err)
		}
		if want := max(size, 20*fixture.GiB); got.SizeBytes != want {
			f.Errorf("%s: %d bytes, want %d", kind, got.SizeBytes, want)
		}
		f.Clock.Step(15 * time.Minute)
	}
	before := f.Script.Count(faults.OpCreateVolume)
	spec := f.VolumeSpec(from.Ref, "smaller")
	spec.SizeBytes = 19 * fixture.GiB
	_, err := session.Volumes.EnsureVolume(f.Context(), spec)
	f.WantClass(err, cloud.ClassInvalid)
	f.WantCount(faults.OpCreateVolume, before)

	f.Store.RemoveSnapshot(from.Ref.ID)
	_, err = session.Volumes.EnsureVolume(f.Context(), f.VolumeSpec(from.Ref, "orphan"))
	f.WantClass(err, cloud.ClassNotFound)
}

// handleComesBack tests the provider's part; cloud/csi tests the handles of
// PersistentVolumes.
func handleComesBack(f *fixture.Fixture) {
	session, volume := f.Session(fixture.Options{}), f.Volume("data")
	got, err := session.Volumes.DescribeVolume(f.Context(), volume)
	if err != nil || got.Ref != volume || got.SizeBytes != 20*fixture.GiB || got.State != cloud.StateReady {
		f.Fatalf("described %+v, %v; want %+v ready with 20 GiB", got, err, volume)
	}
	from := f.Ready(session, volume)
	made, err := session.Volumes.EnsureVolume(f.Context(), f.VolumeSpec(from.Ref, "handle"))
	if err != nil {
		f.Fatalf("restoring: %v", err)
	}
	f.Clock.Step(time.Minute)
	again, err := session.Volumes.DescribeVolume(f.Context(), made.Ref)
	if err != nil || again.Ref != made.Ref || again.UID != made.UID || again.UID == got.UID {
		f.Errorf("restored %+v, described %+v, %v", made.Ref, again, err)
	}
}

func classesElsewhere(f *fixture.Fixture) {
	f.Skip("unsupported: covered by cloud/csi, where no provider is needed")
}
