package failures

import (
	"fmt"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

func lostCases() []fixture.Case {
	return []fixture.Case{
		{Number: 23, Name: "errors before the effect leave one snapshot", Run: errorsBefore},
		{Number: 24, Name: "connection lost after the effect: no duplicate remains", Run: lostAfterEffect},
		{Number: 25, Name: "crash after the effect: the snapshot is adopted", Run: effectThenCrash},
		{Number: 26, Name: "a crash between volumes completes the group, or deletes it", Run: crashInGroup},
		{Number: 27, Name: "a snapshot that is not visible yet is not created again", Run: notVisibleYet},
	}
}

func errorsBefore(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	for i, op := range []faults.Op{faults.OpDescribeVolume, faults.OpGetSnapshot, faults.OpListSnapshots, faults.OpCreateSnapshot} {
		for j, fault := range []faults.Fault{
			{Kind: faults.Refuse, Answer: s.Refusal(cloud.ClassTransient, op, 0)}, {Kind: faults.DropBefore}, {Kind: faults.Garble},
		} {
			c := s.NewClient(session, s.Volume(fmt.Sprintf("data-%d-%d", i, j)), "0")
			fault.Op = op
			s.Script.Add(fault)
			before := s.Script.Count(op)
			c.Step()
			want := cloud.ClassTransient
			if op.Mutates() {
				want = cloud.ClassAmbiguous
			}
			if s.Script.Count(op) > before {
				s.WantClass(c.Err, want)
			}
			s.Script.Clear()
			c.Settle()
			s.One(c.Spec.Name)
		}
	}
}

// lostAfterEffect drops responses of requests that took effect, the case that
// cloud.Intent exists for.
func lostAfterEffect(s *fixture.Fixture) {
	for _, kind := range []faults.Kind{faults.DropAfter, faults.Truncate} {
		for _, lag := range []time.Duration{0, 30 * time.Second, cloud.VisibilityWindow - 5*time.Second} {
			lostAnswer(s, kind, lag)
		}
	}
	if s.Double != nil {
		lostForLong(s)
		doubles(s)
	}
	if s.Spare[15] == "" {
		lostCopy(s)
	}
}

// lostAnswer drops the response to a request to create, and expects no second request.
func lostAnswer(s *fixture.Fixture, kind faults.Kind, lag time.Duration) {
	s.Helper()
	s = s.Again()
	if s.Cloud == nil && lag > 0 {
		return // The snapshots of such a provider are visible at once.
	}
	volume := s.Volume("data")
	s.Pace(fake.Pace{Ready: 30 * time.Second, Lag: lag})
	c := s.NewClient(s.Session(fixture.Options{}), volume, "0")
	s.Script.Add(faults.Fault{Op: faults.OpCreateSnapshot, Kind: kind})
	c.Step()
	if c.Err != nil { // A session may have read it once more and found it.
		s.WantClass(c.Err, cloud.ClassAmbiguous)
	}
	if made := len(s.Owned(s.Owner, c.Spec.Name)); made != 1 {
		s.Fatalf("%s, lag %s: %d were made; the case needs one", kind, lag, made)
	}
	for end := s.Clock.Now().Add(cloud.VisibilityWindow + time.Minute); s.Clock.Now().Before(end); s.Clock.Step(5 * time.Second) {
		c.Step()
		s.WantCount(faults.OpCreateSnapshot, 1)
	}
	c.Settle()
	s.One(c.Spec.Name)
	s.WantCount(faults.OpCreateSnapshot, 1)
}

// lostForLong hides a snapshot for longer than the visibility window, so that a second is
// created.
func lostForLong(s *fixture.Fixture) {
	s.Helper()
	s = s.Again()
	volume := s.Volume("data")
	s.Pace(fake.Pace{Ready: 30 * time.Second, Lag: cloud.VisibilityWindow + time.Minute})
	c := s.NewClient(s.Session(fixture.Options{}), volume, "0")
	s.Script.Add(faults.Fault{Op: faults.OpCreateSnapshot, Kind: faults.DropAfter})
	for end := s.Clock.Now().Add(cloud.VisibilityWindow); s.Clock.Now().Before(end); s.Clock.Step(5 * time.Second) {
		c.Step()
		s.WantCount(faults.OpCreateSnapshot, 1)
	}
	c.Settle()
	s.WantCount(faults.OpCreateSnapshot, 2)
	s.Clock.Step(10 * time.Minute)
	c.Next = time.Time{}
	c.Settle()
	s.One(c.Spec.Name)
}

// doubles creates duplicates; the oldest remains, for every client.
func doubles(s *fixture.Fixture) {
	s.Helper()
	s = s.Again()
	session, volume := s.Session(fixture.Options{}), s.Volume("data")
	oldest := s.Ready(session, volume)
	for range 3 {
		s.Double(s, oldest.Ref.ID)
		s.Clock.Step(time.Minute)
	}
	s.Clock.Step(10 * time.Minute)
	seen := s.Ensure(session, s.Spec(volume, "0"))
	if seen.Ref != oldest.Ref || len(seen.Duplicates) != 3 {
		s.Errorf("kept %q with duplicates %v, want the oldest, %q, and three", seen.Ref.ID, seen.Duplicates, oldest.Ref.ID)
	}
	a, b := s.NewClient(session, volume, "0"), s.NewClient(s.Session(fixture.Options{}), volume, "0")
	a.Step()
	b.Step()
	a.Settle()
	b.Settle()
	if kept := s.One(oldest.Name); kept.ID != oldest.Ref.ID {
		s.Errorf("%q survived, want the oldest, %q", kept.ID, oldest.Ref.ID)
	}
}

func lostCopy(s *fixture.Fixture) {
	s.Helper()
	s = s.Again()
	volume := s.Volume("data")
	s.Pace(fake.Pace{Ready: time.Minute, Lag: 40 * time.Second})
	source := s.Ready(s.Session(fixture.Options{}), volume)
	c := s.NewCopyClient(source.Ref)
	s.Script.Add(faults.Fault{Op: faults.OpCopySnapshot, Kind: faults.DropAfter})
	c.Step()
	if c.Err != nil {
		s.WantClass(c.Err, cloud.ClassAmbiguous)
	}
	c.Settle()
	s.One(c.Spec.Name)
	s.WantCount(faults.OpCopySnapshot, 1)
}

func effectThenCrash(s *fixture.Fixture) {
	volume := s.Volume("data")
	s.Pace(fake.Pace{Ready: time.Minute, Lag: 45 * time.Second})
	c := s.NewClient(s.Session(fixture.Options{}), volume, "0")
	c.StepAndCrash()
	made := s.One(c.Spec.Name)
	c.Step()
	if c.Err != nil {
		s.WantClass(c.Err, cloud.ClassAmbiguous)
	}
	c.Settle()
	if kept := s.One(c.Spec.Name); kept.ID != made.ID || c.Snapshot.Ref.ID != made.ID {
		s.Errorf("adopted %q, the cloud has %q, made was %q", c.Snapshot.Ref.ID, kept.ID, made.ID)
	}
	s.WantCount(faults.OpCreateSnapshot, 1)
}

func crashInGroup(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	group := make([]*fixture.Client, 0, 3)
	for i := range 3 {
		group = append(group, s.NewClient(session, s.Volume(fmt.Sprintf("data-%d", i)), "0"))
	}
	s.Pace(fake.Pace{Ready: time.Minute, Lag: 20 * time.Second})
	group[0].StepAndCrash()
	group[1].Crash()
	group[2].Crash()
	for _, c := range group {
		c.Settle()
		s.One(c.Spec.Name)
	}
	s.WantCount(faults.OpCreateSnapshot, 3)

	// A group that cannot be completed is deleted.
	broken := make([]*fixture.Client, 0, 3)
	for i := range 3 {
		broken = append(broken, s.NewClient(session, s.Volume(fmt.Sprintf("more-%d", i)), "1"))
	}
	s.Clock.Step(10 * time.Minute)
	s.Store.RemoveVolume(broken[2].Spec.Source.Handle)
	broken[0].StepAndCrash()
	broken[2].Crash()
	broken[2].Step()
	s.WantClass(broken[2].Stopped, cloud.ClassNotFound)
	broken[0].Settle()
	if err := session.Snapshots.DeleteSnapshot(s.Context(), broken[0].Snapshot.Ref, s.Owner); err != nil {
		s.Fatalf("cleaning up: %v", err)
	}
	for _, c := range broken {
		if left := s.Owned(s.Owner, c.Spec.Name); len(left) > 0 {
			s.Errorf("left of a group that failed: %v", left)
		}
	}
}

func notVisibleYet(s *fixture.Fixture) {
	volume := s.Volume("data")
	s.Pace(fake.Pace{Ready: time.Minute, Lag: 30 * time.Second})
	c := s.NewClient(s.Session(fixture.Options{}), volume, "0")
	for range 24 {
		c.Step()
		if c.Err != nil {
			s.WantClass(c.Err, cloud.ClassAmbiguous)
		}
		s.WantCount(faults.OpCreateSnapshot, 1)
		c.Next = time.Time{} // As a client that polls every five seconds.
		s.Clock.Step(5 * time.Second)
	}
	c.Settle()
	s.One(c.Spec.Name)
	s.WantCount(faults.OpCreateSnapshot, 1)
}
