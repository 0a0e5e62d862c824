package basics

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

func basicCases() []fixture.Case {
	return []fixture.Case{
		{Number: 1, Name: "a snapshot is Taken, then Ready", Run: createAndFollow},
		{Number: 2, Name: "ensuring a snapshot twice creates one", Run: ensureTwice},
		{Number: 3, Name: "eight concurrent calls leave one snapshot", Run: ensureAtOnce},
		{Number: 4, Name: "a name taken by another volume is a Conflict", Run: nameTaken},
		{Number: 5, Name: "a volume replaced by another of its name is a Conflict", Run: volumeMadeAnew},
		{Number: 6, Name: "a missing volume is NotFound", Run: volumeMissing},
		{Number: 7, Name: "tags are returned unchanged", Run: tagsComeBack},
		{Number: 8, Name: "names of any application and attempt are accepted", Run: namesAreTaken},
	}
}

func createAndFollow(f *fixture.Fixture) {
	session, volume := f.Session(fixture.Options{}), f.Volume("data")
	f.Pace(fake.Pace{Taken: 10 * time.Second, Ready: time.Minute})
	began := f.Clock.Now()
	got := f.Ensure(session, f.Spec(volume, "0"))
	if f.Cloud != nil && got.State != cloud.StateCreating && got.State != cloud.StateTaken {
		f.Fatalf("state %q after creation, want %q, or %q if the provider has no other", got.State, cloud.StateCreating, cloud.StateTaken)
	}
	checkSnapshot(f, got, volume)
	taken := got.TakenAt
	for _, want := range []cloud.State{cloud.StateTaken, cloud.StateReady} {
		step := 11 * time.Second
		if want == cloud.StateReady {
			step = time.Minute
		}
		f.Clock.Step(step)
		got = f.Get(session, got.Ref)
		if f.Cloud == nil {
			want = cloud.StateReady // Only fake.Cloud takes time.
		}
		if got.State != want {
			f.Fatalf("state %q after %s, want %q", got.State, f.Clock.Since(began), want)
		}
		checkSnapshot(f, got, volume)
		if !taken.IsZero() && !got.TakenAt.Equal(taken) {
			f.Errorf("the point in time moved from %s to %s", taken, got.TakenAt)
		}
		taken = got.TakenAt
		checkTaken(f, taken.Sub(began))
	}
	if got.SizeBytes != 20*fixture.GiB || got.Progress != 100 && got.Progress != -1 {
		f.Errorf("size %d and progress %d when ready, want %d and 100 or unknown", got.SizeBytes, got.Progress, 20*fixture.GiB)
	}
	if again := f.Ensure(session, f.Spec(volume, "0")); again.Ref != got.Ref || again.State != cloud.StateReady {
		f.Errorf("ensured again: %q in state %q, want %q", again.Ref.ID, again.State, got.Ref.ID)
	}
}

// checkTaken checks the time between the request and the point in time.
func checkTaken(f *fixture.Fixture, after time.Duration) {
	f.Helper()
	most := 11 * time.Second
	if f.Cloud == nil {
		most = 10 * time.Minute // The server's clock is the machine's, which may be busy.
	}
	if after < -time.Second || after > most {
		f.Errorf("the point in time is %s after the request, want at most %s", after, most)
	}
}

// checkSnapshot checks the fields of a snapshot that are the same in every state.
func checkSnapshot(f *fixture.Fixture, got cloud.Snapshot, volume cloud.VolumeRef) {
	f.Helper()
	if got.Ref.ID == "" || got.Ref.Region != f.Regions[0] || !strings.EqualFold(got.SourceHandle, volume.Handle) {
		f.Errorf("snapshot %q in %q of volume %q, want one in %q of %q", got.Ref.ID, got.Ref.Region, got.SourceHandle, f.Regions[0], volume.Handle)
	}
	if got.TakenAt.IsZero() != (got.State == cloud.StateCreating) {
		f.Errorf("point in time %s in state %q", got.TakenAt, got.State)
	}
	if got.Progress < -1 || got.Progress > 100 {
		f.Errorf("progress %d", got.Progress)
	}
}

func ensureTwice(f *fixture.Fixture) {
	volume := f.Volume("data")
	spec := f.Spec(volume, "0")
	first := f.Ensure(f.Session(fixture.Options{}), spec)
	second := f.Ensure(f.Session(fixture.Options{}), spec)
	if first.Ref != second.Ref || first.Name != second.Name || len(second.Duplicates) > 0 {
		f.Errorf("second %v (duplicates %v), want %v", second.Ref, second.Duplicates, first.Ref)
	}
	f.One(spec.Name)
	f.WantCount(faults.OpCreateSnapshot, 1)
}

func ensureAtOnce(f *fixture.Fixture) {
	volume := f.Volume("data")
	sessions := []cloud.Session{f.Session(fixture.Options{}), f.Session(fixture.Options{})}
	spec := f.Spec(volume, "0")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := sessions[i%2].Snapshots.EnsureSnapshot(f.Context(), spec); err != nil {
				f.Errorf("ensuring at once: %v", err)
			}
		})
	}
	wg.Wait()
	f.Clock.Step(10 * time.Minute)
	a, b := f.Ensure(sessions[0], spec), f.Ensure(sessions[1], spec)
	if a.Ref != b.Ref {
		f.Fatalf("two sessions kept different snapshots: %q and %q", a.Ref.ID, b.Ref.ID)
	}
	if made := len(f.Owned(f.Owner, spec.Name)); made != 1+len(a.Duplicates) {
		f.Fatalf("the cloud has %d snapshots, %d duplicates are reported", made, len(a.Duplicates))
	}
	f.NewClient(sessions[0], volume, "0").Settle()
	if kept := f.One(spec.Name); kept.ID != a.Ref.ID {
		f.Errorf("%q survived, want %q", kept.ID, a.Ref.ID)
	}
}

func nameTaken(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	spec := f.Spec(f.Volume("data"), "0")
	f.Ensure(session, spec)
	f.Clock.Step(10 * time.Minute)
	spec.Source = f.Volume("other")
	_, err := session.Snapshots.EnsureSnapshot(f.Context(), spec)
	f.WantClass(err, cloud.ClassConflict)
	f.One(spec.Name)
}

func volumeMadeAnew(f *fixture.Fixture) {
	session, old := f.Session(fixture.Options{}), f.Volume("data")
	before, err := session.Volumes.DescribeVolume(f.Context(), old)
	if err != nil || before.UID == "" {
		f.Fatalf("describing the volume: UID %q, %v", before.UID, err)
	}
	spec := f.Spec(old, "0")
	spec.SourceUID = before.UID
	made := f.Ensure(session, spec)
	f.Clock.Step(10 * time.Minute)

	anew := f.Volume("data")
	after, err := session.Volumes.DescribeVolume(f.Context(), anew)
	if err != nil || after.UID == before.UID {
		f.Fatalf("the new volume has UID %q as the old one, %v", after.UID, err)
	}
	if again := f.Ensure(session, spec); again.Ref != made.Ref {
		f.Errorf("the snapshot of the old volume is %q, want %q", again.Ref.ID, made.Ref.ID)
	}
	reused := spec
	reused.Source, reused.SourceUID = anew, after.UID
	_, err = session.Snapshots.EnsureSnapshot(f.Context(), reused)
	f.WantClass(err, cloud.ClassConflict)
	mistaken := f.Spec(anew, "1")
	mistaken.SourceUID = before.UID
	_, err = session.Snapshots.EnsureSnapshot(f.Context(), mistaken)
	f.WantClass(err, cloud.ClassConflict)
	f.WantCount(faults.OpCreateSnapshot, 1)
}

func volumeMissing(f *fixture.Fixture) {
	session, volume := f.Session(fixture.Options{}), f.Volume("data")
	f.Store.RemoveVolume(volume.Handle)
	_, err := session.Volumes.DescribeVolume(f.Context(), volume)
	f.WantClass(err, cloud.ClassNotFound)
	spec := f.Spec(volume, "0")
	_, err = session.Snapshots.EnsureSnapshot(f.Context(), spec)
	f.WantClass(err, cloud.ClassNotFound)
	if made := f.Owned(f.Owner, spec.Name); len(made) > 0 {
		f.Errorf("snapshots of a missing volume: %v", made)
	}
}

func tagsComeBack(f *fixture.Fixture) {
	session, volume := f.Session(fixture.Options{}), f.Volume("data")
	described, err := session.Volumes.DescribeVolume(f.Context(), volume)
	if err != nil {
		f.Fatal(err)
	}
	spec := f.Spec(volume, "0")
	spec.SourceUID = described.UID
	spec.Tags = spec.Tags.With(cloud.Tags{
		cloud.TagNamespace:     strings.Repeat("n", 63),
		cloud.TagAppName:       strings.Repeat("Long_Value+=.:/@-", 15) + "!",
		cloud.TagClaim:         "Grüße \"quoted\" & <angled> {é} 店",
		cloud.TagBackup:        "shop-20260301-0200",
		cloud.TagScheduledTime: "2026-03-01T02:00:00Z",
		cloud.TagVersion:       "16.4",
	})
	want := spec.Tags.With(cloud.Tags{cloud.TagVolume: described.UID})
	made := f.Ensure(session, spec)
	want[cloud.TagName] = spec.Name
	f.Clock.Step(10 * time.Minute)
	listed, err := f.List(f.Session(fixture.Options{}), f.Owner)
	if err != nil || len(listed) != 1 {
		f.Fatalf("listed %d, %v", len(listed), err)
	}
	for how, got := range map[string]cloud.Tags{"ensured": made.Tags, "read": f.Get(session, made.Ref).Tags, "listed": listed[0].Tags} {
		if diff := cmp.Diff(want, got); diff != "" {
			f.Errorf("tags when %s (-want +got):\n%s", how, diff)
		}
	}
}

func namesAreTaken(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	seen := map[string]string{}
	for _, app := range []string{"shop", "Ünïcode-店", strings.Repeat("long", 60), ""} {
		for _, attempt := range []int{0, 1, 99} {
			volume := f.Volume(fmt.Sprintf("data-%d", len(seen)))
			spec := f.Spec(volume, "0")
			spec.Name, spec.Attempt = cloud.Name(f.Owner.Hub, app, volume.Handle), attempt
			made := f.Ensure(session, spec)
			again := f.Ensure(session, spec)
			if made.Ref != again.Ref || seen[made.Ref.ID] != "" {
				f.Errorf("app %q attempt %d: %q, then %q, which is also that of %q", app, attempt, made.Ref.ID, again.Ref.ID, seen[made.Ref.ID])
			}
			seen[made.Ref.ID] = app
		}
	}
	volume := f.Volume("twice")
	spec := f.Spec(volume, "0")
	first := f.Ensure(session, spec)
	f.Clock.Step(time.Hour)
	spec.Attempt = 1
	if second := f.Ensure(session, spec); second.Ref == first.Ref {
		f.Errorf("attempt 1 got what attempt 0 had made: %q", first.Ref.ID)
	}
}
