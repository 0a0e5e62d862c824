package aggregate

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// TestRollout checks that a rollout that is not complete is not Running, whatever its clusters are.
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
		"failed": {
			v1.RolloutStatus{State: v1.RolloutFailed, Updated: 1, Message: "a: it is not ready"},
			v1.PhaseFailed, v1.ReasonRolloutFailed, true, "revision 2 is rolled out to 1 of 2 clusters: a: it is not ready",
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

// TestFailedRollout checks that a failed rollout does not progress and waits for a user, and that the clusters keep
// their state.
func TestFailedRollout(t *testing.T) {
	t.Parallel()
	in := rolling(v1.RolloutStatus{State: v1.RolloutFailed, Updated: 1, Message: "a: it is not ready"})
	got := Compute(in)
	for kind, want := range map[string]metav1.ConditionStatus{
		v1.ConditionReady: metav1.ConditionFalse, v1.ConditionProgressing: metav1.ConditionFalse, v1.ConditionStalled: metav1.ConditionTrue,
		v1.ConditionAvailable: metav1.ConditionTrue, v1.ConditionDegraded: metav1.ConditionFalse,
	} {
		c := meta.FindStatusCondition(got.Conditions, kind)
		about := kind != v1.ConditionAvailable && kind != v1.ConditionDegraded
		if c.Status != want || (c.Reason == v1.ReasonRolloutFailed) != about {
			t.Errorf("%s is %s, %s: %s", kind, c.Status, c.Reason, c.Message)
		}
	}
	failing := with(in, "a", reporting(v1.PhaseFailed), says(v1.ConditionDegraded, v1.ReasonCrashLoopBackOff))
	got = Compute(failing)
	ready, degraded := meta.FindStatusCondition(got.Conditions, v1.ConditionReady), meta.FindStatusCondition(got.Conditions, v1.ConditionDegraded)
	if ready.Reason != v1.ReasonRolloutFailed || degraded.Status != metav1.ConditionTrue || degraded.Reason == v1.ReasonRolloutFailed {
		t.Errorf("Ready says %s, Degraded is %s, %s", ready.Reason, degraded.Status, degraded.Reason)
	}
}

// TestUnrevised checks that the status says that the revision of the spec cannot be stored, and still reports on
// clusters.
func TestUnrevised(t *testing.T) {
	t.Parallel()
	complete := v1.RolloutStatus{State: v1.RolloutComplete, Updated: 2}
	for name, tt := range map[string]struct {
		in       Input
		blocking bool
		phase    v1.Phase
	}{
		"until a user acts":          {rolling(complete), true, v1.PhaseFailed},
		"for a moment":               {rolling(complete), false, v1.PhaseUpdating},
		"of a new one":               {Input{Generation: 1, Now: at(0)}, true, v1.PhaseFailed},
		"of a new one, for a moment": {Input{Generation: 1, Now: at(0)}, false, v1.PhasePending},
	} {
		tt.in.Unrevised = &Unrevised{Message: "the quota is used up", Blocking: tt.blocking}
		got := Compute(tt.in)
		if got.Phase != tt.phase || !strings.Contains(got.Message, "the quota is used up") {
			t.Errorf("%s: phase %s: %s", name, got.Phase, got.Message)
		}
		for _, kind := range []string{v1.ConditionReady, v1.ConditionProgressing} {
			if c := meta.FindStatusCondition(got.Conditions, kind); c.Status != metav1.ConditionFalse || c.Reason != v1.ReasonRevisionNotStored {
				t.Errorf("%s: %s is %s, %s", name, kind, c.Status, c.Reason)
			}
		}
		if c := meta.FindStatusCondition(got.Conditions, v1.ConditionStalled); (c.Status == metav1.ConditionTrue) != tt.blocking || tt.blocking && c.Reason != v1.ReasonRevisionNotStored {
			t.Errorf("%s: Stalled is %s, %s", name, c.Status, c.Reason)
		}
	}
	in := rolling(complete)
	in.Unrevised = &Unrevised{Message: "denied", Blocking: true}
	in = with(in, "b", lost)
	if got := Compute(in); !got.EntryOf("b").Stale {
		t.Error("a cluster that is lost meanwhile is not reported")
	}
}

// TestRevisionIsAwaited checks that a copy with another revision than the one that was decided is not ready.
func TestRevisionIsAwaited(t *testing.T) {
	t.Parallel()
	in := rolling(v1.RolloutStatus{State: v1.RolloutProgressing})
	in.Clusters[0].Copy.Revision = 1
	entry := Compute(in).Clusters[0]
	if entry.Ready || entry.Revision != 2 || !entry.Available {
		t.Errorf("ready %t with revision %d, available %t; want to wait for revision 2 while customers are served", entry.Ready, entry.Revision, entry.Available)
	}
}

// TestProgressing checks that a rollout is in progress also while it is taken back, and says what it waits for.
func TestProgressing(t *testing.T) {
	t.Parallel()
	for state, progresses := range map[v1.RolloutState]bool{
		v1.RolloutProgressing: true, v1.RolloutRollingBack: true, v1.RolloutRolledBack: false, v1.RolloutFailed: false,
	} {
		in := rolling(v1.RolloutStatus{State: state, Updated: 1, Message: "waiting for b"})
		c := meta.FindStatusCondition(Compute(in).Conditions, v1.ConditionProgressing)
		if got := c.Status == metav1.ConditionTrue && strings.HasSuffix(c.Message, "waiting for b"); got != progresses {
			t.Errorf("%s: Progressing is %s, %s: %s", state, c.Status, c.Reason, c.Message)
		}
	}
}

// TestCountPlaced checks that a cluster is up to date with the generation and, in a rollout, with its revision.
func TestCountPlaced(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rollout *v1.RolloutStatus
		entry   v1.ClusterStatus
		want    int32
	}{
		"no rollout":       {nil, v1.ClusterStatus{AppliedGeneration: 2}, 1},
		"the revision":     {&v1.RolloutStatus{Revision: 3}, v1.ClusterStatus{AppliedGeneration: 2, Revision: 3}, 1},
		"another revision": {&v1.RolloutStatus{Revision: 3}, v1.ClusterStatus{AppliedGeneration: 2, Revision: 2}, 0},
		"not applied":      {&v1.RolloutStatus{Revision: 3}, v1.ClusterStatus{AppliedGeneration: 1, Revision: 3}, 0},
	} {
		s := summary{in: Input{Generation: 2, Rollout: test.rollout}}
		if s.countPlaced(test.entry); s.applied != test.want {
			t.Errorf("%s: %d are up to date", name, s.applied)
		}
	}
}
