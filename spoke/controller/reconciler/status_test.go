package reconciler

import (
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestHoldFor changes a status that was written a second ago, while others make progress.
func TestHoldFor(t *testing.T) {
	t.Parallel()
	written := metav1.NewTime(time.Unix(1000, 0))
	for name, tt := range map[string]struct {
		others int
		ahead  time.Duration
		change func(*v1.EcommerceAppStatus)
		want   time.Duration
	}{
		"a message":                     {0, 0, func(s *v1.EcommerceAppStatus) { s.Message = "1 of 2" }, time.Second},
		"a message, beside nine others": {9, 0, func(s *v1.EcommerceAppStatus) { s.Message = "1 of 2" }, 6 * time.Second},
		"a part":                        {0, 0, func(s *v1.EcommerceAppStatus) { s.Ready = "1/2" }, -time.Second},
		"a part, beside nine others":    {9, 0, func(s *v1.EcommerceAppStatus) { s.Ready = "1/2" }, 4 * time.Second},
		"a message, ten minutes ahead":  {0, 10 * time.Minute, func(s *v1.EcommerceAppStatus) { s.Message = "1 of 2" }, 0},
		"the phase":                     {1000, 0, func(s *v1.EcommerceAppStatus) { s.Phase = v1.PhaseRunning }, 0},
		"a server that started":         {1000, 0, func(s *v1.EcommerceAppStatus) { s.StartedServer = &v1.DatabaseServer{Version: "8.4.2"} }, 0},
		"a condition": {1000, 0, func(s *v1.EcommerceAppStatus) {
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
				SameParts: func(before, after *v1.EcommerceApp) bool { return before.Status.Ready == after.Status.Ready },
			}, &Member{})
			for i := range tt.others {
				r.pace.Period(types.NamespacedName{Name: strconv.Itoa(i)}, partsEvery, written.Time)
			}
			last := metav1.NewTime(written.Add(tt.ahead))
			before := &v1.EcommerceApp{Status: v1.EcommerceAppStatus{Phase: v1.PhaseCreating, LastUpdated: &last}}
			after := before.DeepCopy()
			tt.change(&after.Status)
			if got := r.holdFor(before, after, metav1.NewTime(written.Add(time.Second))); got != tt.want {
				t.Errorf("it is written in %s, want %s", got, tt.want)
			}
		})
	}
}
