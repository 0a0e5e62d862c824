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
		{Number: 39, Name: "malformed responses are Transient, or Ambiguous after a change", Run: senseless},
		{Number: 40, Name: "an unknown state is not Ready", Run: unknownState},
		{Number: 41, Name: "a cancelled call returns, Ambiguous after a change", Run: cancelled},
	}
}

func stuck(s *fixture.Fixture) {
	session, volume := s.Session(fixture.Options{}), s.Volume("data")
	s.Pace(fake.Pace{Taken: 10 * time.Second, Ready: time.Minute})
	s.Cloud.StickNext()
	c := s.NewClient(session, volume, "0")
	c.Step()
	first := c.Snapshot
	for range 24 {
		s.Clock.Step(time.Hour)
		c.Step()
		if c.Err != nil || c.Snapshot.Ref != first.Ref || c.Snapshot.State != first.State || c.Snapshot.State == cloud.StateReady {
			s.Fatalf("%q in state %q, %v; want %q as it was, in state %q", c.Snapshot.Ref.ID, c.Snapshot.State, c.Err, first.Ref.ID, first.State)
		}
	}
	s.WantCount(faults.OpCreateSnapshot, 1)
	if diff := cmp.Diff([]string{first.Ref.ID}, s.IDs(session, s.Owner)); diff != "" {
		s.Errorf("IDs (-want +got):\n%s", diff)
	}
}

func failsLater(s *fixture.Fixture) {
	session, volume := s.Session(fixture.Options{}), s.Volume("data")
	s.Pace(fake.Pace{Taken: 10 * time.Second, Ready: time.Minute})
	s.Cloud.FailNext("the key is disabled")
	c := s.NewClient(session, volume, "0")
	c.Step()
	if c.Err != nil {
		s.Fatalf("accepted: %v", c.Err)
	}
	failed := c.Snapshot.Ref
	s.Clock.Step(20 * time.Second)
	if got := s.Get(session, failed); got.State != cloud.StateFailed || got.Message == "" {
		s.Fatalf("state %q with message %q, want %q with one", got.State, got.Message, cloud.StateFailed)
	}
	c.Settle()
	if c.Snapshot.Ref == failed || c.Written.Attempt != 1 {
		s.Errorf("%q is ready at attempt %d; want another than %q at attempt 1", c.Snapshot.Ref.ID, c.Written.Attempt, failed.ID)
	}
	s.One(c.Spec.Name)
	s.WantCount(faults.OpCreateSnapshot, 2)
	if err := session.Snapshots.DeleteSnapshot(s.Context(), failed, s.Owner); err != nil {
		s.Errorf("deleting the failed one: %v", err)
	}
	s.One(c.Spec.Name)
}

func senseless(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	made := s.Ready(session, s.Volume("data"))
	for i, kind := range []faults.Kind{faults.Truncate, faults.Garble} {
		s.Script.Add(faults.Fault{Op: faults.OpGetSnapshot, Kind: kind})
		_, err := session.Snapshots.GetSnapshot(s.Context(), made.Ref)
		s.WantClass(err, cloud.ClassTransient)
		s.Script.Clear()

		c := s.NewClient(session, s.Volume(fmt.Sprintf("data-%d", i)), "0")
		s.Script.Add(faults.Fault{Op: faults.OpCreateSnapshot, Kind: kind})
		c.Step()
		s.WantClass(c.Err, cloud.ClassAmbiguous)
		c.Settle()
		s.One(c.Spec.Name)

		s.Script.Add(faults.Fault{Op: faults.OpDeleteSnapshot, Kind: kind})
		if err := session.Snapshots.DeleteSnapshot(s.Context(), c.Snapshot.Ref, s.Owner); err != nil {
			s.WantClass(err, cloud.ClassAmbiguous)
		}
		s.Script.Clear()
		if err := session.Snapshots.DeleteSnapshot(s.Context(), c.Snapshot.Ref, s.Owner); err != nil {
			s.Errorf("deleting again: %v", err)
		}
	}
}

func unknownState(s *fixture.Fixture) {
	if s.UnknownState == nil {
		s.Fatal("Backend.UnknownState is not set; a provider without states has case 40 in Spare")
	}
	session := s.Session(fixture.Options{})
	made := s.Ready(session, s.Volume("data"))
	s.Script.Add(faults.Fault{Op: faults.OpGetSnapshot, Kind: faults.Refuse, Answer: s.UnknownState(s, made.Ref)})
	if got := s.Get(session, made.Ref); got.State != cloud.StateCreating {
		s.Errorf("state %q, want %q", got.State, cloud.StateCreating)
	}
	if got := s.Get(session, made.Ref); got.State != cloud.StateReady {
		s.Errorf("state %q afterwards, want %q", got.State, cloud.StateReady)
	}
}

func cancelled(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	made := s.Ready(session, s.Volume("data"))
	c := s.NewClient(session, s.Volume("other"), "0")
	s.WantClass(fixture.CancelDuring(s, s.Script, faults.OpGetSnapshot, func(ctx context.Context) error {
		_, err := session.Snapshots.GetSnapshot(ctx, made.Ref)
		return err
	}), cloud.ClassTransient)
	s.WantClass(fixture.CancelDuring(s, s.Script, faults.OpListSnapshots, func(ctx context.Context) error {
		for _, err := range session.Snapshots.ListSnapshots(ctx, s.Owner) {
			if err != nil {
				return err
			}
		}
		return nil
	}), cloud.ClassTransient)
	s.WantClass(fixture.CancelDuring(s, s.Script, faults.OpDeleteSnapshot, func(ctx context.Context) error {
		return session.Snapshots.DeleteSnapshot(ctx, made.Ref, s.Owner)
	}), cloud.ClassAmbiguous)
	c.Write(cloud.Intent{}.Sending(s.Clock.Now()))
	s.WantClass(fixture.CancelDuring(s, s.Script, faults.OpCreateSnapshot, func(ctx context.Context) error {
		_, err := session.Snapshots.EnsureSnapshot(ctx, c.Spec)
		return err
	}), cloud.ClassAmbiguous)
	c.Settle()
	s.One(c.Spec.Name)
	s.One(made.Name)
}
