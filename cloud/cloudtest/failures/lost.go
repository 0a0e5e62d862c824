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

func errorsBefore(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	for i, op := range []faults.Op{faults.OpDescribeVolume, faults.OpGetSnapshot, faults.OpListSnapshots, faults.OpCreateSnapshot} {
		for j, fault := range []faults.Fault{
			{Kind: faults.Refuse, Answer: f.Refusal(cloud.ClassTransient, op, 0)}, {Kind: faults.DropBefore}, {Kind: faults.Garble},
		} {
			c := f.NewClient(session, f.Volume(fmt.Sprintf("data-%d-%d", i, j)), "0")
			fault.Op = op
			f.Script.Add(fault)
			before := f.Script.Count(op)
			c.Step()
			want := cloud.ClassTransient
			if op.Mutates() {
				want = cloud.ClassAmbiguous
			}
			if f.Script.Count(op) > before {
				f.WantClass(c.Err, want)
			}
			f.Script.Clear()
			c.Settle()
			f.One(c.Spec.Name)
		}
	}
}

// lostAfterEffect drops responses of requests that took effect, the case that
// cloud.Intent exists for.
func lostAfterEffect(f *fixture.Fixture) {
	for _, kind := range []faults.Kind{faults.DropAfter, faults.Truncate} {
		for _, lag := range []time.Duration{0, 30 * time.Second, cloud.VisibilityWindow - 5*time.Second} {
			lostAnswer(f, kind, lag)
		}
	}
	if f.Double != nil {
		lostForLong(f)
		doubles(f)
	}
	if f.Unsupported[15] == "" {
		lostCopy(f)
	}
}

// lostAnswer drops the response to a request to create, and expects no second request.
func lostAnswer(f *fixture.Fixture, kind faults.Kind, lag time.Duration) {
	f.Helper()
	f = f.Again()
	if f.Cloud == nil && lag > 0 {
		return // The snapshots of such a provider are visible at once.
	}
	volume := f.Volume("data")
	f.Pace(fake.Pace{Ready: 30 * time.Second, Lag: lag})
	c := f.NewClient(f.Session(fixture.Options{}), volume, "0")
	f.Script.Add(faults.Fault{Op: faults.OpCreateSnapshot, Kind: kind})
	c.Step()
	if c.Err != nil { // A session may have read it once more and found it.
		f.WantClass(c.Err, cloud.ClassAmbiguous)
	}
	if made := len(f.Owned(f.Owner, c.Spec.Name)); made != 1 {
		f.Fatalf("%s, lag %s: %d were made; the case needs one", kind, lag, made)
	}
	for end := f.Clock.Now().Add(cloud.VisibilityWindow + time.Minute); f.Clock.Now().Before(end); f.Clock.Step(5 * time.Second) {
		c.Step()
		f.WantCount(faults.OpCreateSnapshot, 1)
	}
	c.Settle()
	f.One(c.Spec.Name)
	f.WantCount(faults.OpCreateSnapshot, 1)
}

// lostForLong hides a snapshot for longer than the visibility window, so that a second is
// created.
func lostForLong(f *fixture.Fixture) {
	f.Helper()
	f = f.Again()
	volume := f.Volume("data")
	f.Pace(fake.Pace{Ready: 30 * time.Second, Lag: cloud.VisibilityWindow + time.Minute})
	c := f.NewClient(f.Session(fixture.Options{}), volume, "0")
	f.Script.Add(faults.Fault{Op: faults.OpCreateSnapshot, Kind: faults.DropAfter})
	for end := f.Clock.Now().Add(cloud.VisibilityWindow); f.Clock.Now().Before(end); f.Clock.Step(5 * time.Second) {
		c.Step()
		f.WantCount(faults.OpCreateSnapshot, 1)
	}
	c.Settle()
	f.WantCount(faults.OpCreateSnapshot, 2)
	f.Clock.Step(10 * time.Minute)
	c.Next = time.Time{}
	c.Settle()
	f.One(c.Spec.Name)
}

// doubles creates duplicates; the oldest remains, for every client.
func doubles(f *fixture.Fixture) {
	f.Helper()
	f = f.Again()
	session, volume := f.Session(fixture.Options{}), f.Volume("data")
	oldest := f.Ready(session, volume)
	for range 3 {
		f.Double(f, oldest.Ref.ID)
		f.Clock.Step(time.Minute)
	}
	f.Clock.Step(10 * time.Minute)
	seen := f.Ensure(session, f.Spec(volume, "0"))
	if seen.Ref != oldest.Ref || len(seen.Duplicates) != 3 {
		f.Errorf("kept %q with duplicates %v, want the oldest, %q, and three", seen.Ref.ID, seen.Duplicates, oldest.Ref.ID)
	}
	a, b := f.NewClient(session, volume, "0"), f.NewClient(f.Session(fixture.Options{}), volume, "0")
	a.Step()
	b.Step()
	a.Settle()
	b.Settle()
	if kept := f.One(oldest.Name); kept.ID != oldest.Ref.ID {
		f.Errorf("%q survived, want the oldest, %q", kept.ID, oldest.Ref.ID)
	}
}

func lostCopy(f *fixture.Fixture) {
	f.Helper()
	f = f.Again()
	volume := f.Volume("data")
	f.Pace(fake.Pace{Ready: time.Minute, Lag: 40 * time.Second})
	source := f.Ready(f.Session(fixture.Options{}), volume)
	c := f.NewCopyClient(source.Ref)
	f.Script.Add(faults.Fault{Op: faults.OpCopySnapshot, Kind: faults.DropAfter})
	c.Step()
	if c.Err != nil {
		f.WantClass(c.Err, cloud.ClassAmbiguous)
	}
	c.Settle()
	f.One(c.Spec.Name)
	f.WantCount(faults.OpCopySnapshot, 1)
}

func effectThenCrash(f *fixture.Fixture) {
	volume := f.Volume("data")
	f.Pace(fake.Pace{Ready: time.Minute, Lag: 45 * time.Second})
	c := f.NewClient(f.Session(fixture.Options{}), volume, "0")
	c.StepAndCrash()
	made := f.One(c.Spec.Name)
	c.Step()
	if c.Err != nil {
		f.WantClass(c.Err, cloud.ClassAmbiguous)
	}
	c.Settle()
	if kept := f.One(c.Spec.Name); kept.ID != made.ID || c.Snapshot.Ref.ID != made.ID {
		f.Errorf("adopted %q, the cloud has %q, made was %q", c.Snapshot.Ref.ID, kept.ID, made.ID)
	}
	f.WantCount(faults.OpCreateSnapshot, 1)
}

func crashInGroup(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	group := make([]*fixture.Client, 0, 3)
	for i := range 3 {
		group = append(group, f.NewClient(session, f.Volume(fmt.Sprintf("data-%d", i)), "0"))
	}
	f.Pace(fake.Pace{Ready: time.Minute, Lag: 20 * time.Second})
	group[0].StepAndCrash()
	group[1].Crash()
	group[2].Crash()
	for _, c := range group {
		c.Settle()
		f.One(c.Spec.Name)
	}
	f.WantCount(faults.OpCreateSnapshot, 3)

	// A group that cannot be completed is deleted.
	broken := make([]*fixture.Client, 0, 3)
	for i := range 3 {
		broken = append(broken, f.NewClient(session, f.Volume(fmt.Sprintf("more-%d", i)), "1"))
	}
	f.Clock.Step(10 * time.Minute)
	f.Store.RemoveVolume(broken[2].Spec.Source.Handle)
	broken[0].StepAndCrash()
	broken[2].Crash()
	broken[2].Step()
	f.WantClass(broken[2].Stopped, cloud.ClassNotFound)
	broken[0].Settle()
	if err := session.Snapshots.DeleteSnapshot(f.Context(), broken[0].Snapshot.Ref, f.Owner); err != nil {
		f.Fatalf("cleaning up: %v", err)
	}
	for _, c := range broken {
		if left := f.Owned(f.Owner, c.Spec.Name); len(left) > 0 {
			f.Errorf("left of a group that failed: %v", left)
		}
	}
}

func notVisibleYet(f *fixture.Fixture) {
	volume := f.Volume("data")
	f.Pace(fake.Pace{Ready: time.Minute, Lag: 30 * time.Second})
	c := f.NewClient(f.Session(fixture.Options{}), volume, "0")
	for range 24 {
		c.Step()
		if c.Err != nil {
			f.WantClass(c.Err, cloud.ClassAmbiguous)
		}
		f.WantCount(faults.OpCreateSnapshot, 1)
		c.Next = time.Time{} // As a client that polls every five seconds.
		f.Clock.Step(5 * time.Second)
	}
	c.Settle()
	f.One(c.Spec.Name)
	f.WantCount(faults.OpCreateSnapshot, 1)
}
