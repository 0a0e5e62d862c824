package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestComponentsOf checks what a rollout sees of a component that is not ready.
func TestComponentsOf(t *testing.T) {
	t.Parallel()
	const db, front = "database", "frontend"
	for name, tt := range map[string]struct {
		of    v1.ComponentStatus
		phase v1.Phase
		want  Component
	}{
		"rolling":                          {of: v1.ComponentStatus{Name: db, Reason: v1.ReasonProgressing}, want: Component{Changing: true}},
		"a replica of a database starts":   {of: v1.ComponentStatus{Name: db, Reason: v1.ReasonWaitingForReplicas}, want: Component{Growing: true}},
		"so does one of the frontend":      {of: v1.ComponentStatus{Name: front, Reason: v1.ReasonWaitingForReplicas}},
		"after a change of its number":     {of: v1.ComponentStatus{Name: front, Reason: v1.ReasonWaitingForReplicas}, phase: v1.PhaseScaling, want: Component{Scaling: true}},
		"a volume grows":                   {of: v1.ComponentStatus{Name: db, Reason: v1.ReasonWaitingForStorage}, want: Component{Growing: true}},
		"a volume is not provisioned":      {of: v1.ComponentStatus{Name: db, Reason: v1.ReasonProvisioningFailed}, want: Component{Growing: true}},
		"a replica copies":                 {of: v1.ComponentStatus{Name: db, Reason: v1.ReasonCopyingData, Replicas: 3, UpdatedReplicas: 3}, want: Component{Growing: true, Copying: true}},
		"while the others are not updated": {of: v1.ComponentStatus{Name: db, Reason: v1.ReasonCopyingData, Replicas: 3, UpdatedReplicas: 1}, want: Component{Copying: true}},
		"one that is added fits no node":   {of: v1.ComponentStatus{Name: db, Reason: v1.ReasonDeadlineExceeded, Replicas: 3, UpdatedReplicas: 3}, want: Component{Growing: true}},
		"an update is stuck":               {of: v1.ComponentStatus{Name: db, Reason: v1.ReasonDeadlineExceeded, Replicas: 3, UpdatedReplicas: 1}},
		"a quota refuses a replica":        {of: v1.ComponentStatus{Name: db, Reason: v1.ReasonFailedCreate, Replicas: 3, UpdatedReplicas: 2, ReadyReplicas: 2}, want: Component{Growing: true}},
		"a quota refuses an updated pod":   {of: v1.ComponentStatus{Name: db, Reason: v1.ReasonFailedCreate, Replicas: 2, UpdatedReplicas: 0, ReadyReplicas: 1}},
		"pods fail":                        {of: v1.ComponentStatus{Name: db, Reason: v1.ReasonCrashLoopBackOff, Replicas: 2, UpdatedReplicas: 2}},
	} {
		tt.want.Name, tt.want.Reason = tt.of.Name, tt.of.Reason
		got := ComponentsOf(&v1.EcommerceAppStatus{Phase: tt.phase, Components: []v1.ComponentStatus{{Name: "backend", Ready: true}, tt.of}})
		if diff := cmp.Diff([]Component{tt.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestOnlyGrowthFails checks that a database that cannot grow needs no user for the sake of the revision; another
// component that fails does.
func TestOnlyGrowthFails(t *testing.T) {
	t.Parallel()
	grows := v1.ComponentStatus{Name: "database", Phase: v1.PhaseFailed, Reason: v1.ReasonDeadlineExceeded, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 2}
	fails := v1.ComponentStatus{Name: "frontend", Phase: v1.PhaseFailed, Reason: v1.ReasonDeadlineExceeded}
	waits := v1.ComponentStatus{Name: "frontend", Phase: v1.PhaseUpdating, Reason: v1.ReasonWaitingForReplicas}
	for name, tt := range map[string]struct {
		of   []v1.ComponentStatus
		want bool
	}{
		"nothing fails":                   {[]v1.ComponentStatus{waits}, false},
		"it cannot grow":                  {[]v1.ComponentStatus{grows, waits}, true},
		"and another one fails":           {[]v1.ComponentStatus{grows, fails}, false},
		"and another one before it fails": {[]v1.ComponentStatus{fails, grows}, false},
	} {
		if got := OnlyGrowthFails(&v1.EcommerceAppStatus{Components: tt.of}); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
