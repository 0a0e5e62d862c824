package reconciler

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestHoldFor changes a status some time after it was written.
func TestHoldFor(t *testing.T) {
	t.Parallel()
	written := metav1.NewTime(time.Unix(1000, 0))
	message := func(s *v1.EcommerceAppStatus) { s.Message = "1 of 2" }
	phase := func(s *v1.EcommerceAppStatus) { s.Phase = v1.PhaseRunning }
	for name, tt := range map[string]struct {
		last   *metav1.Time
		after  time.Duration
		change func(*v1.EcommerceAppStatus)
		want   time.Duration
	}{
		"the first status":             {nil, 0, message, 0},
		"a message":                    {&written, time.Second, message, 4 * time.Second},
		"a message, later":             {&written, 5 * time.Second, message, 0},
		"a message, by a clock behind": {&written, -time.Minute, message, 5 * time.Second},
		"a part":                       {&written, time.Second, func(s *v1.EcommerceAppStatus) { s.Ready = "1/2" }, 4 * time.Second},
		"the phase":                    {&written, time.Second, phase, 0},
		"the phase, within the second": {&written, 300 * time.Millisecond, phase, 700 * time.Millisecond},
		"the phase, by a clock behind": {&written, -time.Minute, phase, time.Second},
		"a server that started":        {&written, time.Second, func(s *v1.EcommerceAppStatus) { s.StartedServer = &v1.DatabaseServer{Version: "8.4.2"} }, 0},
		"a condition, also within a second": {&written, 0, func(s *v1.EcommerceAppStatus) {
			s.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
		}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReconciler(Kind[*v1.EcommerceApp]{
				Status: func(app *v1.EcommerceApp) Status {
					s := &app.Status
					return Status{Phase: &s.Phase, Message: &s.Message, ObservedGeneration: &s.ObservedGeneration, LastUpdated: &s.LastUpdated, Conditions: &s.Conditions, StartedServer: &s.StartedServer}
				},
			}, &Member{Settings: Settings{Clock: clocktesting.NewFakeClock(written.Add(tt.after))}})
			before := &v1.EcommerceApp{Status: v1.EcommerceAppStatus{Phase: v1.PhaseCreating, LastUpdated: tt.last}}
			after := before.DeepCopy()
			tt.change(&after.Status)
			if got := r.holdFor(before, after); got != tt.want {
				t.Errorf("it is written in %s, want %s", got, tt.want)
			}
		})
	}
}
