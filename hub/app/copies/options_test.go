package copies

import (
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// TestDefaults checks what options are without values, and that values stay.
func TestDefaults(t *testing.T) {
	t.Parallel()
	d := New(nil, Options{Waits: retry.Waits{Scale: 0.5}}).options
	if d.Clock == nil || d.State == nil || d.Logger.GetSink() != nil || d.Record("a") == nil {
		t.Errorf("defaults %+v", d)
	}
	if d.CallTimeout != defaultCallTimeout || d.Workers != defaultWorkers || d.Resync != controller.DefaultResync/2 {
		t.Errorf("timeout %s, %d workers, resync %s", d.CallTimeout, d.Workers, d.Resync)
	}
	if d.Fleet.Mode("a") != v1.ModeAgentless || d.Fleet.Paused("a") {
		t.Error("members have agents, or are paused")
	}
	clock, record := clocktesting.NewFakePassiveClock(time.Unix(0, 0)), &fakeRecord{}
	given := Options{
		Clock: clock, Logger: funcr.New(func(string, string) {}, funcr.Options{}), CallTimeout: time.Nanosecond, Workers: 1, Resync: time.Nanosecond,
		Fleet: pausedFleet{}, State: state.New(clock), Record: func(string) Record { return record },
	}
	d = New(nil, given).options
	if d.Clock != given.Clock || d.Logger.GetSink() == nil || d.State != given.State || d.Record("a") != record || !d.Fleet.Paused("a") {
		t.Errorf("values are replaced: %+v", d)
	}
	if d.CallTimeout != given.CallTimeout || d.Workers != 1 || d.Resync != given.Resync {
		t.Errorf("timeout %s, %d workers, resync %s", d.CallTimeout, d.Workers, d.Resync)
	}
}
