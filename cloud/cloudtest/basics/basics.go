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

func createAndFollow(s *fixture.Fixture) {
	session, volume := s.Session(fixture.Options{}), s.Volume("data")
	s.Pace(fake.Pace{Taken: 10 * time.Second, Ready: time.Minute})
	began := s.Clock.Now()
	got := s.Ensure(session, s.Spec(volume, "0"))
	if s.Cloud != nil && got.State != cloud.StateCreating && got.State != cloud.StateTaken {
		s.Fatalf("state %q after creation, want %q, or %q if the provider has no other", got.State, cloud.StateCreating, cloud.StateTaken)
	}
	checkSnapshot(s, got, volume)
	taken := got.TakenAt
	for _, want := range []cloud.State{cloud.StateTaken, cloud.StateReady} {
		step := 11 * time.Second
		if want == cloud.StateReady {
			step = time.Minute
		}
		s.Clock.Step(step)
		got = s.Get(session, got.Ref)
		if s.Cloud == nil {
			want = cloud.StateReady // Only fake.Cloud takes time.
		}
		if got.State != want {
			s.Fatalf("state %q after %s, want %q", got.State, s.Clock.Since(began), want)
		}
		checkSnapshot(s, got, volume)
		if !taken.IsZero() && !got.TakenAt.Equal(taken) {
			s.Errorf("the point in time moved from %s to %s", taken, got.TakenAt)
		}
		taken = got.TakenAt
		checkTaken(s, taken.Sub(began))
	}
	if got.SizeBytes != 20*fixture.GiB || got.Progress != 100 && got.Progress != -1 {
		s.Errorf("size %d and progress %d when ready, want %d and 100 or unknown", got.SizeBytes, got.Progress, 20*fixture.GiB)
	}
	if again := s.Ensure(session, s.Spec(volume, "0")); again.Ref != got.Ref || again.State != cloud.StateReady {
		s.Errorf("ensured again: %q in state %q, want %q", again.Ref.ID, again.State, got.Ref.ID)
	}
}

// checkTaken checks the time between the request and the point in time.
func checkTaken(s *fixture.Fixture, after time.Duration) {
	s.Helper()
	most := 11 * time.Second
	if s.Cloud == nil {
		most = 10 * time.Minute // The server's clock is the machine's, which may be busy.
	}
	if after < -time.Second || after > most {
		s.Errorf("the point in time is %s after the request, want at most %s", after, most)
	}
}

// checkSnapshot checks the fields of a snapshot that are the same in every state.
func checkSnapshot(s *fixture.Fixture, got cloud.Snapshot, volume cloud.VolumeRef) {
	s.Helper()
	if got.Ref.ID == "" || got.Ref.Region != s.Regions[0] || !strings.EqualFold(got.SourceHandle, volume.Handle) {
		s.Errorf("snapshot %q in %q of volume %q, want one in %q of %q", got.Ref.ID, got.Ref.Region, got.SourceHandle, s.Regions[0], volume.Handle)
	}
	if got.TakenAt.IsZero() != (got.State == cloud.StateCreating) {
		s.Errorf("point in time %s in state %q", got.TakenAt, got.State)
	}
	if got.Progress < -1 || got.Progress > 100 {
		s.Errorf("progress %d", got.Progress)
	}
}

func ensureTwice(s *fixture.Fixture) {
	volume := s.Volume("data")
	spec := s.Spec(volume, "0")
	first := s.Ensure(s.Session(fixture.Options{}), spec)
	second := s.Ensure(s.Session(fixture.Options{}), spec)
	if first.Ref != second.Ref || first.Name != second.Name || len(second.Duplicates) > 0 {
		s.Errorf("second %v (duplicates %v), want %v", second.Ref, second.Duplicates, first.Ref)
	}
	s.One(spec.Name)
	s.WantCount(faults.OpCreateSnapshot, 1)
}

func ensureAtOnce(s *fixture.Fixture) {
	volume := s.Volume("data")
	sessions := []cloud.Session{s.Session(fixture.Options{}), s.Session(fixture.Options{})}
	spec := s.Spec(volume, "0")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := sessions[i%2].Snapshots.EnsureSnapshot(s.Context(), spec); err != nil {
				s.Errorf("ensuring at once: %v", err)
			}
		})
	}
	wg.Wait()
	s.Clock.Step(10 * time.Minute)
	a, b := s.Ensure(sessions[0], spec), s.Ensure(sessions[1], spec)
	if a.Ref != b.Ref {
		s.Fatalf("two sessions kept different snapshots: %q and %q", a.Ref.ID, b.Ref.ID)
	}
	if made := len(s.Owned(s.Owner, spec.Name)); made != 1+len(a.Duplicates) {
		s.Fatalf("the cloud has %d snapshots, %d duplicates are reported", made, len(a.Duplicates))
	}
	s.NewClient(sessions[0], volume, "0").Settle()
	if kept := s.One(spec.Name); kept.ID != a.Ref.ID {
		s.Errorf("%q survived, want %q", kept.ID, a.Ref.ID)
	}
}

func nameTaken(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	spec := s.Spec(s.Volume("data"), "0")
	s.Ensure(session, spec)
	s.Clock.Step(10 * time.Minute)
	spec.Source = s.Volume("other")
	_, err := session.Snapshots.EnsureSnapshot(s.Context(), spec)
	s.WantClass(err, cloud.ClassConflict)
	s.One(spec.Name)
}

func volumeMadeAnew(s *fixture.Fixture) {
	session, old := s.Session(fixture.Options{}), s.Volume("data")
	before, err := session.Volumes.DescribeVolume(s.Context(), old)
	if err != nil || before.UID == "" {
		s.Fatalf("describing the volume: UID %q, %v", before.UID, err)
	}
	spec := s.Spec(old, "0")
	spec.SourceUID = before.UID
	made := s.Ensure(session, spec)
	s.Clock.Step(10 * time.Minute)

	anew := s.Volume("data")
	after, err := session.Volumes.DescribeVolume(s.Context(), anew)
	if err != nil || after.UID == before.UID {
		s.Fatalf("the new volume has UID %q as the old one, %v", after.UID, err)
	}
	if again := s.Ensure(session, spec); again.Ref != made.Ref {
		s.Errorf("the snapshot of the old volume is %q, want %q", again.Ref.ID, made.Ref.ID)
	}
	reused := spec
	reused.Source, reused.SourceUID = anew, after.UID
	_, err = session.Snapshots.EnsureSnapshot(s.Context(), reused)
	s.WantClass(err, cloud.ClassConflict)
	mistaken := s.Spec(anew, "1")
	mistaken.SourceUID = before.UID
	_, err = session.Snapshots.EnsureSnapshot(s.Context(), mistaken)
	s.WantClass(err, cloud.ClassConflict)
	s.WantCount(faults.OpCreateSnapshot, 1)
}

func volumeMissing(s *fixture.Fixture) {
	session, volume := s.Session(fixture.Options{}), s.Volume("data")
	s.Store.RemoveVolume(volume.Handle)
	_, err := session.Volumes.DescribeVolume(s.Context(), volume)
	s.WantClass(err, cloud.ClassNotFound)
	spec := s.Spec(volume, "0")
	_, err = session.Snapshots.EnsureSnapshot(s.Context(), spec)
	s.WantClass(err, cloud.ClassNotFound)
	if made := s.Owned(s.Owner, spec.Name); len(made) > 0 {
		s.Errorf("snapshots of a missing volume: %v", made)
	}
}

func tagsComeBack(s *fixture.Fixture) {
	session, volume := s.Session(fixture.Options{}), s.Volume("data")
	described, err := session.Volumes.DescribeVolume(s.Context(), volume)
	if err != nil {
		s.Fatal(err)
	}
	spec := s.Spec(volume, "0")
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
	made := s.Ensure(session, spec)
	want[cloud.TagName] = spec.Name
	s.Clock.Step(10 * time.Minute)
	listed, err := s.List(s.Session(fixture.Options{}), s.Owner)
	if err != nil || len(listed) != 1 {
		s.Fatalf("listed %d, %v", len(listed), err)
	}
	for how, got := range map[string]cloud.Tags{"ensured": made.Tags, "read": s.Get(session, made.Ref).Tags, "listed": listed[0].Tags} {
		if diff := cmp.Diff(want, got); diff != "" {
			s.Errorf("tags when %s (-want +got):\n%s", how, diff)
		}
	}
}

func namesAreTaken(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	seen := map[string]string{}
	for _, app := range []string{"shop", "Ünïcode-店", strings.Repeat("long", 60), ""} {
		for _, attempt := range []int{0, 1, 99} {
			volume := s.Volume(fmt.Sprintf("data-%d", len(seen)))
			spec := s.Spec(volume, "0")
			spec.Name, spec.Attempt = cloud.Name(s.Owner.Hub, app, volume.Handle), attempt
			made := s.Ensure(session, spec)
			again := s.Ensure(session, spec)
			if made.Ref != again.Ref || seen[made.Ref.ID] != "" {
				s.Errorf("app %q attempt %d: %q, then %q, which is also that of %q", app, attempt, made.Ref.ID, again.Ref.ID, seen[made.Ref.ID])
			}
			seen[made.Ref.ID] = app
		}
	}
	volume := s.Volume("twice")
	spec := s.Spec(volume, "0")
	first := s.Ensure(session, spec)
	s.Clock.Step(time.Hour)
	spec.Attempt = 1
	if second := s.Ensure(session, spec); second.Ref == first.Ref {
		s.Errorf("attempt 1 got what attempt 0 had made: %q", first.Ref.ID)
	}
}
