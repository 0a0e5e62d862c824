package failures

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
)

func accessCases() []fixture.Case {
	return []fixture.Case{
		{Number: 29, Name: "wrong credentials are refused with one request", Run: wrongCredentials},
		{Number: 30, Name: "the error names the missing permission", Run: permissionMissing},
		{Number: 43, Name: "an account that hangs does not delay another", Run: oneAccountHangs},
		{Number: 44, Name: "timestamps are the provider's", Run: timeIsTheProviders},
		{Number: 45, Name: "requests are valid, and errors contain no secret", Run: requestsAndSecrets},
		{Number: 46, Name: "the provider denies what the documented permissions exclude", Run: excluded},
	}
}

func wrongCredentials(s *fixture.Fixture) {
	volume := s.Volume("data")
	good := s.Session(fixture.Options{})
	ref := s.Ready(good, volume).Ref
	for name, call := range map[string]func(cloud.Session) error{
		"EnsureSnapshot": func(bad cloud.Session) error {
			_, err := bad.Snapshots.EnsureSnapshot(s.Context(), s.Spec(volume, "1"))
			return err
		},
		"ListSnapshots":  func(bad cloud.Session) error { _, err := s.List(bad, s.Owner); return err },
		"DeleteSnapshot": func(bad cloud.Session) error { return bad.Snapshots.DeleteSnapshot(s.Context(), ref, s.Owner) },
		"Identity":       func(bad cloud.Session) error { _, err := bad.Access.Identity(s.Context()); return err },
	} {
		bad := s.Session(fixture.Options{BadCredentials: true})
		before := s.Script.Count(faults.OpAny)
		err := call(bad)
		s.WantClass(err, cloud.ClassAuthExpired, cloud.ClassDenied)
		if sent := s.Script.Count(faults.OpAny) - before; sent != 1 {
			s.Errorf("%s: %d requests with wrong credentials, want one", name, sent)
		}
	}

	// If credentials expire during a list, it is complete or ends with an error.
	s.Pages()
	s.Several(good, s.Owner, 5)
	want := s.IDs(good, s.Owner)
	skip := 1
	if s.PageSize == nil {
		skip = 0
	}
	s.Script.Add(faults.Fault{Op: faults.OpListSnapshots, Skip: skip, Kind: faults.Refuse, Answer: s.Refusal(cloud.ClassAuthExpired, faults.OpListSnapshots, 0)})
	if got, err := s.List(good, s.Owner); err != nil {
		s.WantClass(err, cloud.ClassAuthExpired)
	} else if len(got) != len(want) {
		s.Errorf("%d of %d without error", len(got), len(want))
	}
	s.Script.Clear()
	if diff := cmp.Diff(want, s.IDs(good, s.Owner)); diff != "" {
		s.Errorf("IDs afterwards (-want +got):\n%s", diff)
	}
}

func permissionMissing(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	made := s.Ready(session, s.Volume("data"))
	s.Script.Add(faults.Fault{Op: faults.OpDeleteSnapshot, Times: -1, Kind: faults.Refuse, Answer: s.Refusal(cloud.ClassDenied, faults.OpDeleteSnapshot, 0)})
	err := session.Snapshots.DeleteSnapshot(s.Context(), made.Ref, s.Owner)
	s.WantClass(err, cloud.ClassDenied)
	var e *cloud.Error
	if errors.As(err, &e); e.Code == cloud.CodeForeign {
		s.Errorf("what the provider denies is not what we refuse: %v", err)
	}
	// The name of the permission is the provider's, but refers to deleting snapshots.
	if text := strings.ToLower(e.Code + " " + e.Message); !strings.Contains(text, "snapshot") || !strings.Contains(text, "delete") {
		s.Errorf("neither code nor message name the permission: %v", err)
	}
	s.WantCount(faults.OpDeleteSnapshot, 1)
	s.One(made.Name)
	s.Get(session, made.Ref)
	s.Ensure(session, s.Spec(s.Volume("other"), "0"))

	checks, err := session.Access.Preflight(s.Context(), s.Owner)
	if err != nil {
		s.Fatalf("preflight: %v", err)
	}
	for _, check := range checks {
		if check.Permission == "" || (check.By == "") == (check.Unchecked == "") || check.Granted && check.Unchecked != "" {
			s.Errorf("a check without a name, or that is neither made nor explained: %+v", check)
		}
	}
}

func oneAccountHangs(s *fixture.Fixture) {
	hangs, answers := s.Session(fixture.Options{}), s.Session(fixture.Options{OtherAccount: true})
	began := make(chan struct{})
	var once sync.Once
	s.Script.Chance(func(faults.Op) (faults.Fault, bool) {
		first := false
		once.Do(func() { first = true; close(began) })
		return faults.Fault{Kind: faults.Hang}, first
	})
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := hangs.Access.Identity(ctx)
		ended <- err
	}()
	<-began
	other, err := answers.Access.Identity(s.Context())
	if err != nil {
		s.Errorf("the other account does not answer: %v", err)
	}
	select {
	case err := <-ended:
		s.Errorf("the account that should hang has answered: %v", err)
	default:
	}
	cancel()
	s.WantClass(<-ended, cloud.ClassTransient)
	s.Script.Clear()
	mine, err := hangs.Access.Identity(s.Context())
	if err != nil || mine.Account == "" || mine.Account == other.Account {
		s.Errorf("accounts %q and %q, %v; want two", mine.Account, other.Account, err)
	}
}

func timeIsTheProviders(s *fixture.Fixture) {
	session, volume := s.Session(fixture.Options{}), s.Volume("data")
	made := s.Ready(session, volume)
	if made.ObservedAt.IsZero() {
		s.Skip("spare: its responses have no time")
	}
	for range 2 {
		got := s.Get(session, made.Ref)
		if off := s.Clock.Since(got.ObservedAt).Abs(); off > 2*time.Second {
			s.Errorf("observed at %s, which is %s off the provider's clock", got.ObservedAt, off)
		}
		s.Clock.Step(26 * time.Hour)
	}
}

// requestsAndSecrets calls every method, with and without faults. The fixture checks
// requests and errors after every case, and after this one.
func requestsAndSecrets(s *fixture.Fixture) {
	kinds := []faults.Fault{
		{Kind: faults.DropBefore}, {Kind: faults.DropAfter}, {Kind: faults.Truncate}, {Kind: faults.Garble},
		{Kind: faults.Refuse}, {Kind: ""},
	}
	ops := []faults.Op{
		faults.OpDescribeVolume, faults.OpCreateSnapshot, faults.OpCopySnapshot, faults.OpGetSnapshot, faults.OpListSnapshots,
		faults.OpDeleteSnapshot, faults.OpCreateVolume, faults.OpDeleteVolume,
	}
	for _, fault := range kinds {
		spare := s.Ready(s.Session(fixture.Options{}), s.Volume("spare"+strings.ToLower(string(fault.Kind)))).Ref
		for _, op := range ops {
			if fault.Kind == "" {
				break
			}
			fault.Op, fault.Times = op, -1
			if fault.Kind == faults.Refuse {
				fault.Answer = s.Refusal(cloud.ClassDenied, op, 0)
			}
			s.Script.Add(fault)
		}
		everything(s, s.Session(fixture.Options{}), string(fault.Kind), spare)
		s.Script.Clear()
	}
	everything(s, s.Session(fixture.Options{BadCredentials: true}), "bad", s.Ready(s.Session(fixture.Options{}), s.Volume("spare-bad")).Ref)
	if s.Script.Count(faults.OpAny) == 0 {
		s.Fatal("no request was recorded")
	}
	if s.Validate == nil {
		if s.NoOracle == "" {
			s.Fatal("Backend.Validate and Backend.NoOracle are not set")
		}
		s.Skip("spare: " + s.NoOracle)
	}
}

// everything calls all methods and ignores the results. It uses the spare snapshot if it cannot
// create one.
func everything(s *fixture.Fixture, session cloud.Session, name string, spare cloud.SnapshotRef) {
	s.Helper()
	ctx, volume := s.Context(), s.Volume("data-"+strings.ToLower(name))
	_, _ = session.Access.Identity(ctx)
	_, _ = session.Access.Preflight(ctx, s.Owner)
	_, _ = session.Volumes.DescribeVolume(ctx, volume)
	made, err := session.Snapshots.EnsureSnapshot(ctx, s.Spec(volume, name))
	s.Clock.Step(10 * time.Minute)
	if err != nil {
		made.Ref = spare
	}
	_, _ = session.Snapshots.GetSnapshot(ctx, made.Ref)
	_, _ = s.List(session, s.Owner)
	c := s.NewCopyClient(made.Ref)
	_, _ = c.Session.Snapshots.EnsureCopy(ctx, cloud.CopySpec{Name: c.Spec.Name, Source: made.Ref, Tags: c.Spec.Tags, MaySend: true})
	restored, err := session.Volumes.EnsureVolume(ctx, s.VolumeSpec(made.Ref, name))
	s.Clock.Step(10 * time.Minute)
	if err == nil {
		_ = session.Volumes.DeleteVolume(ctx, restored.Ref, s.Owner)
	}
	_ = session.Snapshots.DeleteSnapshot(ctx, made.Ref, s.Owner)
}
