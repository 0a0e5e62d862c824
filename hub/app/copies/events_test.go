package copies

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/tools/events"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

// TestRecordEvents checks that the end of a copy and another failure are events, and what stays is none.
func TestRecordEvents(t *testing.T) {
	t.Parallel()
	gone := state.Result{Gone: true}
	failed := func(reason string) state.Result {
		return state.Result{Failure: &aggregate.Failure{Reason: reason, Message: "no"}}
	}
	for name, tt := range map[string]struct {
		last *state.Result
		next state.Result
		want string
	}{
		"gone":               {nil, gone, "Normal CopyDeleted The copy in a is gone"},
		"still gone":         {&gone, gone, ""},
		"a failure":          {nil, failed(v1.ReasonForbidden), "Warning Forbidden a: no"},
		"the same failure":   {new(failed(v1.ReasonForbidden)), failed(v1.ReasonForbidden), ""},
		"another failure":    {new(failed(v1.ReasonConflict)), failed(v1.ReasonForbidden), "Warning Forbidden a: no"},
		"a failure to apply": {&state.Result{}, failed(v1.ReasonApplyFailed), "Warning SyncFailed a: no"},
		"success":            {new(failed(v1.ReasonForbidden)), state.Result{Applied: true}, ""},
	} {
		recorder := events.NewFakeRecorder(10)
		m := &MemberQueue{name: "a", options: Options{Recorder: recorder}}
		m.recordEvents(shop(1, 1), tt.last, tt.next)
		got := ""
		if len(recorder.Events) > 0 {
			got = <-recorder.Events
		}
		if !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: event %q, want %q", name, got, tt.want)
		}
	}
}

// TestRecordWrite checks that the time to reach a member is measured for what was written.
func TestRecordWrite(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[apply.Outcome]int{apply.Created: 1, apply.Updated: 1, apply.Unchanged: 0, apply.Held: 0, apply.Terminating: 0} {
		fanout := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "fanout_seconds", Help: "Fan-out."}, []string{"cluster"})
		d := New(nil, Options{FanOut: fanout})
		m := &MemberQueue{name: "a", options: d.options, state: d.state}
		m.recordWrite(t.Context(), shop(1, 1), outcome)
		if got := testutil.CollectAndCount(fanout); got != 0 {
			t.Errorf("%s: %d series of an application that was not seen", outcome, got)
		}
		d.state.Deliver(nil, shop(1, 1))
		m.recordWrite(t.Context(), shop(1, 1), outcome)
		if got := testutil.CollectAndCount(fanout); got != want {
			t.Errorf("%s: %d series, want %d", outcome, got, want)
		}
	}
}
