package aggregate

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// rolling returns an input with a rollout of revision 2, which cluster a has and b has not.
func rolling(status v1.RolloutStatus) Input {
	in := after(everywhere(), 1)
	status.Revision, status.PreviousRevision, status.Total = 2, 1, 2
	in.Rollout, in.Revisions = &status, map[string]int64{"a": 2, "b": 1}
	for i := range in.Clusters {
		in.Clusters[i].Copy.Revision = in.Revisions[in.Clusters[i].Name]
	}
	return in
}

// TestRollout: a rollout that is not complete is not Running, whatever its clusters are.
func TestRollout(t *testing.T) {
	t.Parallel()
	const cause = "eu-1: it is not ready within spec.rollout.progressDeadline: WaitingForReplicas: frontend: 0 of 1 replicas are ready; the cluster rejects the creation of pods"
	for name, tt := range map[string]struct {
		status  v1.RolloutStatus
		phase   v1.Phase
		reason  string
		stalled bool
		says    string
	}{
		"progressing": {
			v1.RolloutStatus{State: v1.RolloutProgressing, Updated: 1, Message: "waiting for b"},
			v1.PhaseUpdating, v1.ReasonWaitingForClusters, false, "2 of 2 clusters are ready; revision 2 is rolled out to 1 of 2 clusters: waiting for b",
		},
		"waiting for a user": {
			v1.RolloutStatus{State: v1.RolloutWaitingForApproval, Updated: 1, Message: "waiting for approval of r-b"},
			v1.PhaseUpdating, v1.ReasonWaitingForClusters, false, "waiting for approval of r-b",
		},
		"taken back": {
			v1.RolloutStatus{State: v1.RolloutRolledBack, Message: "a: it is not ready"},
			v1.PhaseFailed, v1.ReasonRolledBack, true, "revision 2 was rolled back to 1: a: it is not ready",
		},
		"taking back": {
			v1.RolloutStatus{State: v1.RolloutRollingBack, Message: "a: it is not ready"},
			v1.PhaseFailed, v1.ReasonRolledBack, false, "revision 2 is being rolled back to 1: a: it is not ready",
		},
		"complete, and a cluster returns": {
			v1.RolloutStatus{State: v1.RolloutComplete, Updated: 1}, v1.PhaseRunning, v1.ReasonRunning, false, MessageRunning,
		},
		"the cause is not cut off": {
			v1.RolloutStatus{State: v1.RolloutRolledBack, Message: cause}, v1.PhaseFailed, v1.ReasonRolledBack, true, "rolled back to 1: " + cause,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := rolling(tt.status)
			got := Compute(in)
			ready, stalled := meta.FindStatusCondition(got.Conditions, v1.ConditionReady), meta.IsStatusConditionTrue(got.Conditions, v1.ConditionStalled)
			if got.Phase != tt.phase || ready.Reason != tt.reason || stalled != tt.stalled || !strings.Contains(ready.Message, tt.says) {
				t.Errorf("phase %s, stalled %t, Ready %s: %q", got.Phase, stalled, ready.Reason, ready.Message)
			}
			if !meta.IsStatusConditionTrue(got.Conditions, v1.ConditionAvailable) {
				t.Error("not available, although both clusters serve customers")
			}
			if meta.IsStatusConditionTrue(got.Conditions, v1.ConditionApplied) {
				t.Error("applied, although b has another revision")
			}
			checkSettled(t, in, got)
		})
	}
}

// TestRevisionIsAwaited: a copy with another revision than the one that was decided is not ready.
func TestRevisionIsAwaited(t *testing.T) {
	t.Parallel()
	in := rolling(v1.RolloutStatus{State: v1.RolloutProgressing})
	in.Clusters[0].Copy.Revision = 1
	entry := Compute(in).Clusters[0]
	if entry.Ready || entry.Revision != 2 || !entry.Available {
		t.Errorf("ready %t with revision %d, available %t; want to wait for revision 2 while customers are served", entry.Ready, entry.Revision, entry.Available)
	}
}
