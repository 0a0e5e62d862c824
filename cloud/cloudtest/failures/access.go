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
		{Number: 49, Name: "another identity deletes, and the first one cannot", Run: separated},
	}
}

func wrongCredentials(f *fixture.Fixture) {
	volume := f.Volume("data")
	good := f.Session(fixture.Options{})
	ref := f.Ready(good, volume).Ref
	for name, call := range map[string]func(cloud.Session) error{
		"EnsureSnapshot": func(bad cloud.Session) error {
			_, err := bad.Snapshots.EnsureSnapshot(f.Context(), f.Spec(volume, "1"))
			return err
		},
		"ListSnapshots":  func(bad cloud.Session) error { _, err := f.List(bad, f.Owner); return err },
		"DeleteSnapshot": func(bad cloud.Session) error { return bad.Snapshots.DeleteSnapshot(f.Context(), ref, f.Owner) },
		"Identity":       func(bad cloud.Session) error { _, err := bad.Access.Identity(f.Context()); return err },
	} {
		bad := f.Session(fixture.Options{BadCredentials: true})
		before := f.Script.Count(faults.OpAny)
		err := call(bad)
		f.WantClass(err, cloud.ClassAuthExpired, cloud.ClassDenied)
		if sent := f.Script.Count(faults.OpAny) - before; sent != 1 {
			f.Errorf("%s: %d requests with wrong credentials, want one", name, sent)
		}
	}

	// If credentials expire during a list, it is complete or ends with an error.
	f.Pages()
	f.Several(good, f.Owner, 5)
	want := f.IDs(good, f.Owner)
	skip := 1
	if f.PageSize == nil {
		skip = 0
	}
	f.Script.Add(faults.Fault{Op: faults.OpListSnapshots, Skip: skip, Kind: faults.Refuse, Answer: f.Refusal(cloud.ClassAuthExpired, faults.OpListSnapshots, 0)})
	if got, err := f.List(good, f.Owner); err != nil {
		f.WantClass(err, cloud.ClassAuthExpired)
	} else if len(got) != len(want) {
		f.Errorf("%d of %d without error", len(got), len(want))
	}
	f.Script.Clear()
	if diff := cmp.Diff(want, f.IDs(good, f.Owner)); diff != "" {
		f.Errorf("IDs afterwards (-want +got):\n%s", diff)
	}
}

func permissionMissing(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	made := f.Ready(session, f.Volume("data"))
	f.Script.Add(faults.Fault{Op: faults.OpDeleteSnapshot, Times: -1, Kind: faults.Refuse, Answer: f.Refusal(cloud.ClassDenied, faults.OpDeleteSnapshot, 0)})
	err := session.Snapshots.DeleteSnapshot(f.Context(), made.Ref, f.Owner)
	f.WantClass(err, cloud.ClassDenied)
	var e *cloud.Error
	if errors.As(err, &e); e.Code == cloud.CodeForeign {
		f.Errorf("what the provider denies is not what we refuse: %v", err)
	}
	// The name of the permission is the provider's, but refers to deleting snapshots.
	if text := strings.ToLower(e.Code + " " + e.Message); !strings.Contains(text, "snapshot") || !strings.Contains(text, "delete") {
		f.Errorf("neither code nor message name the permission: %v", err)
	}
	f.WantCount(faults.OpDeleteSnapshot, 1)
	f.One(made.Name)
	f.Get(session, made.Ref)
	f.Ensure(session, f.Spec(f.Volume("other"), "0"))

	checks, err := session.Access.Preflight(f.Context(), f.Owner)
	if err != nil {
		f.Fatalf("preflight: %v", err)
	}
	for _, check := range checks {
		if check.Permission == "" || (check.By == "") == (check.Unchecked == "") || check.Granted && check.Unchecked != "" {
			f.Errorf("a check without a name, or that is neither made nor explained: %+v", check)
		}
	}
}

func oneAccountHangs(f *fixture.Fixture) {
	hangs, answers := f.Session(fixture.Options{}), f.Session(fixture.Options{OtherAccount: true})
	began := make(chan struct{})
	var once sync.Once
	f.Script.Chance(func(faults.Op) (faults.Fault, bool) {
		first := false
		once.Do(func() { first = true; close(began) })
		return faults.Fault{Kind: faults.Hang}, first
	})
	ctx, cancel := context.WithCancel(f.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := hangs.Access.Identity(ctx)
		ended <- err
	}()
	<-began
	other, err := answers.Access.Identity(f.Context())
	if err != nil {
		f.Errorf("the other account does not answer: %v", err)
	}
	select {
	case err := <-ended:
		f.Errorf("the account that should hang has answered: %v", err)
	default:
	}
	cancel()
	f.WantClass(<-ended, cloud.ClassTransient)
	f.Script.Clear()
	mine, err := hangs.Access.Identity(f.Context())
	if err != nil || mine.Account == "" || mine.Account == other.Account {
		f.Errorf("accounts %q and %q, %v; want two", mine.Account, other.Account, err)
	}
}

func timeIsTheProviders(f *fixture.Fixture) {
	session, volume := f.Session(fixture.Options{}), f.Volume("data")
	made := f.Ready(session, volume)
	if made.ObservedAt.IsZero() {
		f.Skip("unsupported: its responses have no time")
	}
	for range 2 {
		got := f.Get(session, made.Ref)
		if off := f.Clock.Since(got.ObservedAt).Abs(); off > 2*time.Second {
			f.Errorf("observed at %s, which is %s off the provider's clock", got.ObservedAt, off)
		}
		f.Clock.Step(26 * time.Hour)
	}
}

// requestsAndSecrets calls every method, with and without faults. The fixture checks
// requests and errors after every case, and after this one.
func requestsAndSecrets(f *fixture.Fixture) {
	kinds := []faults.Fault{
		{Kind: faults.DropBefore}, {Kind: faults.DropAfter}, {Kind: faults.Truncate}, {Kind: faults.Garble},
		{Kind: faults.Refuse}, {Kind: ""},
	}
	ops := []faults.Op{
		faults.OpDescribeVolume, faults.OpCreateSnapshot, faults.OpCopySnapshot, faults.OpGetSnapshot, faults.OpListSnapshots,
		faults.OpDeleteSnapshot,
	}
	for _, fault := range kinds {
		spare := f.Ready(f.Session(fixture.Options{}), f.Volume("spare"+strings.ToLower(string(fault.Kind)))).Ref
		for _, op := range ops {
			if fault.Kind == "" {
				break
			}
			fault.Op, fault.Times = op, -1
			if fault.Kind == faults.Refuse {
				fault.Answer = f.Refusal(cloud.ClassDenied, op, 0)
			}
			f.Script.Add(fault)
		}
		everything(f, f.Session(fixture.Options{}), string(fault.Kind), spare)
		f.Script.Clear()
	}
	everything(f, f.Session(fixture.Options{BadCredentials: true}), "bad", f.Ready(f.Session(fixture.Options{}), f.Volume("spare-bad")).Ref)
	if f.Script.Count(faults.OpAny) == 0 {
		f.Fatal("no request was recorded")
	}
	if f.Validate == nil {
		if f.ValidateSkipReason == "" {
			f.Fatal("Backend.Validate and Backend.ValidateSkipReason are not set")
		}
		f.Skip("unsupported: " + f.ValidateSkipReason)
	}
}

// everything calls all methods and ignores the results. It uses the spare snapshot if it cannot
// create one.
func everything(f *fixture.Fixture, session cloud.Session, name string, spare cloud.SnapshotRef) {
	f.Helper()
	ctx, volume := f.Context(), f.Volume("data-"+strings.ToLower(name))
	_, _ = session.Access.Identity(ctx)
	_, _ = session.Access.Preflight(ctx, f.Owner)
	_, _ = session.Volumes.DescribeVolume(ctx, volume)
	made, err := session.Snapshots.EnsureSnapshot(ctx, f.Spec(volume, name))
	f.Clock.Step(10 * time.Minute)
	if err != nil {
		made.Ref = spare
	}
	_, _ = session.Snapshots.GetSnapshot(ctx, made.Ref)
	_, _ = f.List(session, f.Owner)
	c := f.NewCopyClient(made.Ref)
	_, _ = c.Session.Snapshots.EnsureCopy(ctx, cloud.CopySpec{Name: c.Spec.Name, Source: made.Ref, Tags: c.Spec.Tags, MaySend: true})
	_ = session.Snapshots.DeleteSnapshot(ctx, made.Ref, f.Owner)
}
