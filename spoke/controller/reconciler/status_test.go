package reconciler

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// TestDelay changes a status some time after it was written.
func TestDelay(t *testing.T) {
	t.Parallel()
	message := func(s *v1.EcommerceAppStatus) { s.Message = "1 of 2" }
	for name, tt := range map[string]struct {
		after  time.Duration
		change func(*v1.EcommerceAppStatus)
		want   time.Duration
	}{
		"a message":                    {time.Second, message, 4 * time.Second},
		"a message, later":             {5 * time.Second, message, 0},
		"a message, ten minutes ahead": {-10 * time.Minute, message, 0},
		"a part":                       {time.Second, func(s *v1.EcommerceAppStatus) { s.Ready = "1/2" }, 4 * time.Second},
		"the phase":                    {time.Second, func(s *v1.EcommerceAppStatus) { s.Phase = v1.PhaseRunning }, 0},
		"a server that started":        {time.Second, func(s *v1.EcommerceAppStatus) { s.StartedServer = &v1.DatabaseServer{Version: "8.4.2"} }, 0},
		"a condition": {time.Second, func(s *v1.EcommerceAppStatus) {
			s.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReconciler(Kind[*v1.EcommerceApp]{
				Status: func(app *v1.EcommerceApp) Status {
					s := &app.Status
					return Status{Phase: &s.Phase, Message: &s.Message, ObservedGeneration: &s.ObservedGeneration, LastUpdated: &s.LastUpdated, Conditions: &s.Conditions, StartedServer: &s.StartedServer}
				},
			}, &Member{Progress: retry.NewProgress(retry.ProgressPeriod)})
			last := metav1.NewTime(time.Unix(1000, 0))
			before := &v1.EcommerceApp{Status: v1.EcommerceAppStatus{Phase: v1.PhaseCreating, LastUpdated: &last}}
			after := before.DeepCopy()
			tt.change(&after.Status)
			if got := r.delay(before, after, last.Add(tt.after)); got != tt.want {
				t.Errorf("it is written in %s, want %s", got, tt.want)
			}
			for range 5 { // Others use up what is written in a period.
				r.member.Progress.Until(last.Add(tt.after), last.Add(tt.after-10*time.Second))
			}
			if got := r.delay(before, after, last.Add(tt.after)); tt.want > 0 && got != 30*time.Second-tt.after {
				t.Errorf("with many others it is written in %s", got)
			}
		})
	}
}
