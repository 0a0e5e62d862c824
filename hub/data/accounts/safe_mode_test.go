package accounts

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
)

// calls returns all calls to clouds by whether they may change something. Those that may or may not are
// listed twice.
func calls(ctx context.Context, s cloud.Session, o cloud.ObjectStore) map[bool]map[string]func() error {
	snapshot, volume := cloud.SnapshotRef{Region: "eu-west-1", ID: "snap-1"}, cloud.VolumeRef{Region: "eu-west-1", Handle: "vol-1"}
	second := func(_ any, err error) error { return err }
	ensure := func(may bool) map[string]func() error {
		return map[string]func() error{
			"EnsureSnapshot": func() error {
				return second(s.Snapshots.EnsureSnapshot(ctx, cloud.SnapshotSpec{Name: "s", Source: volume, MaySend: may}))
			},
			"EnsureCopy": func() error {
				return second(s.Snapshots.EnsureCopy(ctx, cloud.CopySpec{Name: "c", Source: snapshot, MaySend: may}))
			},
		}
	}
	reads, writes := ensure(false), ensure(true)
	reads["GetSnapshot"] = func() error { return second(s.Snapshots.GetSnapshot(ctx, snapshot)) }
	reads["ListSnapshots"] = func() error {
		for _, err := range s.Snapshots.ListSnapshots(ctx, cloud.Owner{Hub: "hub-1"}) {
			return err
		}
		return nil
	}
	reads["DescribeVolume"] = func() error { return second(s.Volumes.DescribeVolume(ctx, volume)) }
	reads["Identity"] = func() error { return second(s.Access.Identity(ctx)) }
	reads["Preflight"] = func() error { return second(s.Access.Preflight(ctx, cloud.Owner{Hub: "hub-1"})) }
	reads["SignRequests"] = func() error { return second(o.SignRequests(ctx, nil, time.Minute)) }
	reads["GetObject"] = func() error { return second(o.GetObject(ctx, "k", 1)) }
	reads["ListObjects"] = func() error {
		for _, err := range o.ListObjects(ctx, "k") {
			return err
		}
		return nil
	}
	writes["DeleteSnapshot"] = func() error { return s.Snapshots.DeleteSnapshot(ctx, snapshot, cloud.Owner{Hub: "hub-1"}) }
	writes["PutObject"] = func() error { return o.PutObject(ctx, "k", nil) }
	writes["DeleteObject"] = func() error { return o.DeleteObject(ctx, "k") }
	return map[bool]map[string]func() error{false: reads, true: writes}
}

// TestSafeMode makes each call that there is: those that may change something are refused without a
// request, and no other.
func TestSafeMode(t *testing.T) {
	t.Parallel()
	s := newEnvironment()
	s.options.SafeMode = true
	s.Set("a", withBucket(), nil)
	session, err := s.Session(t.Context(), "a", "eu-west-1")
	if err != nil {
		t.Fatal(err)
	}
	all := calls(t.Context(), session, s.bucket(t))
	for _, kind := range []reflect.Type{
		reflect.TypeFor[cloud.Snapshots](), reflect.TypeFor[cloud.Volumes](), reflect.TypeFor[cloud.Access](), reflect.TypeFor[cloud.ObjectStore](),
	} {
		for method := range kind.Methods() {
			if name := method.Name; all[false][name] == nil && all[true][name] == nil {
				t.Errorf("%s.%s is not tested", kind.Name(), name)
			}
		}
	}
	for writes, some := range all {
		for name, call := range some {
			sent := s.requests.Count(faults.OpAny)
			e, _ := errors.AsType[*cloud.Error](call())
			if refused := e != nil && e.Code == CodeSafeMode; refused != writes {
				t.Errorf("%s (changes: %t): %v", name, writes, e)
			}
			if n := s.requests.Count(faults.OpAny) - sent; writes && n > 0 {
				t.Errorf("%s sent %d requests", name, n)
			}
		}
	}
}
