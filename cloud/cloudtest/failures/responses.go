package failures

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

func answerCases() []fixture.Case {
	return []fixture.Case{
		{Number: 31, Name: "a snapshot that is stuck keeps its state", Run: stuck},
		{Number: 32, Name: "a failure after acceptance is Failed, with a message", Run: failsLater},
		{Number: 39, Name: "malformed responses are Transient, or Ambiguous after a change", Run: malformedResponses},
		{Number: 40, Name: "an unknown state is not Ready", Run: unknownState},
		{Number: 41, Name: "a cancelled call returns, Ambiguous after a change", Run: cancelled},
	}
}

func stuck(f *fixture.Fixture) {
	session, volume := f.Session(fixture.Options{}), f.Volume("data")
	f.Pace(fake.Pace{Taken: 10 * time.Second, Ready: time.Minute})
	f.Cloud.StickNext()
	c := f.NewClient(session, volume, "0")
	c.Step()
	first := c.Snapshot
	for range 24 {
		f.Clock.Step(time.Hour)
		c.Step()
		if c.Err != nil || c.Snapshot.Ref != first.Ref || c.Snapshot.State != first.State || c.Snapshot.State == cloud.StateReady {
			f.Fatalf("%q in state %q, %v; want %q as it was, in state %q", c.Snapshot.Ref.ID, c.Snapshot.State, c.Err, first.Ref.ID, first.State)
		}
	}
	f.WantCount(faults.OpCreateSnapshot, 1)
	if diff := cmp.Diff([]string{first.Ref.ID}, f.IDs(session, f.Owner)); diff != "" {
		f.Errorf("IDs (-want +got):\n%s", diff)
	}
}

func failsLater(f *fixture.Fixture) {
	session, volume := f.Session(fixture.Options{}), f.Volume("data")
	f.Pace(fake.Pace{Taken: 10 * time.Second, Ready: time.Minute})
	f.Cloud.FailNext("the key is disabled")
	c := f.NewClient(session, volume, "0")
	c.Step()
	if c.Err != nil {
		f.Fatalf("accepted: %v", c.Err)
	}
	failed := c.Snapshot.Ref
	f.Clock.Step(20 * time.Second)
	if got := f.Get(session, failed); got.State != cloud.StateFailed || got.Message == "" {
		f.Fatalf("state %q with message %q, want %q with one", got.State, got.Message, cloud.StateFailed)
	}
	c.Settle()
	if c.Snapshot.Ref == failed || c.Written.Attempt != 1 {
		f.Errorf("%q is ready at attempt %d; want another than %q at attempt 1", c.Snapshot.Ref.ID, c.Written.Attempt, failed.ID)
	}
	f.One(c.Spec.Name)
	f.WantCount(faults.OpCreateSnapshot, 2)
	if err := session.Snapshots.DeleteSnapshot(f.Context(), failed, f.Owner); err != nil {
		f.Errorf("deleting the failed one: %v", err)
	}
	f.One(c.Spec.Name)
}

func malformedResponses(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	made := f.Ready(session, f.Volume("data"))
	for i, kind := range []faults.Kind{faults.Truncate, faults.Garble} {
		f.Script.Add(faults.Fault{Op: faults.OpGetSnapshot, Kind: kind})
		_, err := session.Snapshots.GetSnapshot(f.Context(), made.Ref)
		f.WantClass(err, cloud.ClassTransient)
		f.Script.Clear()

		c := f.NewClient(session, f.Volume(fmt.Sprintf("data-%d", i)), "0")
		f.Script.Add(faults.Fault{Op: faults.OpCreateSnapshot, Kind: kind})
		c.Step()
		f.WantClass(c.Err, cloud.ClassAmbiguous)
		c.Settle()
		f.One(c.Spec.Name)

		f.Script.Add(faults.Fault{Op: faults.OpDeleteSnapshot, Kind: kind})
		if err := session.Snapshots.DeleteSnapshot(f.Context(), c.Snapshot.Ref, f.Owner); err != nil {
			f.WantClass(err, cloud.ClassAmbiguous)
		}
		f.Script.Clear()
		if err := session.Snapshots.DeleteSnapshot(f.Context(), c.Snapshot.Ref, f.Owner); err != nil {
			f.Errorf("deleting again: %v", err)
		}
	}
}

func unknownState(f *fixture.Fixture) {
	if f.UnknownState == nil {
		f.Fatal("Backend.UnknownState is not set; a provider without states has case 40 in Unsupported")
	}
	session := f.Session(fixture.Options{})
	made := f.Ready(session, f.Volume("data"))
	f.Script.Add(faults.Fault{Op: faults.OpGetSnapshot, Kind: faults.Refuse, Answer: f.UnknownState(f, made.Ref)})
	if got := f.Get(session, made.Ref); got.State != cloud.StateCreating {
		f.Errorf("state %q, want %q", got.State, cloud.StateCreating)
	}
	if got := f.Get(session, made.Ref); got.State != cloud.StateReady {
		f.Errorf("state %q afterwards, want %q", got.State, cloud.StateReady)
	}
}

func cancelled(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	made := f.Ready(session, f.Volume("data"))
	c := f.NewClient(session, f.Volume("other"), "0")
	f.WantClass(fixture.CancelDuring(f, f.Script, faults.OpGetSnapshot, func(ctx context.Context) error {
		_, err := session.Snapshots.GetSnapshot(ctx, made.Ref)
		return err
	}), cloud.ClassTransient)
	f.WantClass(fixture.CancelDuring(f, f.Script, faults.OpListSnapshots, func(ctx context.Context) error {
		for _, err := range session.Snapshots.ListSnapshots(ctx, f.Owner) {
			if err != nil {
				return err
			}
		}
		return nil
	}), cloud.ClassTransient)
	f.WantClass(fixture.CancelDuring(f, f.Script, faults.OpDeleteSnapshot, func(ctx context.Context) error {
		return session.Snapshots.DeleteSnapshot(ctx, made.Ref, f.Owner)
	}), cloud.ClassAmbiguous)
	c.Write(cloud.Intent{}.Sending(f.Clock.Now()))
	f.WantClass(fixture.CancelDuring(f, f.Script, faults.OpCreateSnapshot, func(ctx context.Context) error {
		_, err := session.Snapshots.EnsureSnapshot(ctx, c.Spec)
		return err
	}), cloud.ClassAmbiguous)
	c.Settle()
	f.One(c.Spec.Name)
	f.One(made.Name)
}
