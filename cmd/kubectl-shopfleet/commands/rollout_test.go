package commands

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestRollbackProgress: a rollback ends when it is done, and another attempt also when it is taken back.
func TestRollbackProgress(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		to           int64
		state        v1.RolloutState
		requested    bool
		done, failed bool
	}{
		"the one before":                {state: v1.RolloutRolledBack, done: true},
		"the one before, in progress":   {state: v1.RolloutRollingBack},
		"an earlier one":                {to: 1, state: v1.RolloutRolledBack, done: true},
		"another attempt":               {to: 3, state: v1.RolloutProgressing},
		"another attempt that succeeds": {to: 3, state: v1.RolloutComplete, done: true},
		"another attempt that fails":    {to: 3, state: v1.RolloutRolledBack, done: true, failed: true},
		"another attempt that is left":  {to: 3, state: v1.RolloutFailed, done: true, failed: true},
		"another attempt, not observed": {to: 3, state: v1.RolloutRolledBack, requested: true},
		"not observed after a failure":  {to: 3, state: v1.RolloutFailed, requested: true},
	} {
		app := &v1.EcommerceApp{}
		app.Status.Rollout = &v1.RolloutStatus{Revision: 3, PreviousRevision: 2, State: tt.state}
		if tt.requested {
			app.Annotations = map[string]string{v1.RollbackToAnnotation: "3"}
		}
		if got := (&undo{to: tt.to}).progress(app); got.done != tt.done || got.failed != tt.failed {
			t.Errorf("%s: done %t, failed %t; want %t, %t", name, got.done, got.failed, tt.done, tt.failed)
		}
	}
}

// TestApproval: the region that waits is approved, for what it waits for.
func TestApproval(t *testing.T) {
	t.Parallel()
	waits := &v1.RolloutStatus{Revision: 2, State: v1.RolloutWaitingForApproval, Region: "us"}
	done := &v1.RolloutStatus{Revision: 2, State: v1.RolloutComplete}
	for want, status := range map[string]v1.EcommerceAppStatus{
		"2/us":           {Rollout: waits, Rendering: done},
		"rendering-2/us": {Rollout: done, Rendering: waits},
		"":               {Rollout: done},
	} {
		if got, err := approval(&v1.EcommerceApp{Status: status}); got != want || (err == nil) != (want != "") {
			t.Errorf("approval %q and %v, want %q", got, err, want)
		}
	}
}

// TestReadinessOfRollouts: a rollout that does not go on by itself fails at once, with its message.
func TestReadinessOfRollouts(t *testing.T) {
	t.Parallel()
	for state, failed := range map[v1.RolloutState]bool{
		v1.RolloutFailed: true, v1.RolloutRolledBack: true,
		v1.RolloutProgressing: false, v1.RolloutPaused: false, v1.RolloutWaitingForApproval: false, v1.RolloutRollingBack: false, v1.RolloutComplete: false,
	} {
		app := &v1.EcommerceApp{}
		app.Status.Message, app.Status.Rollout = "not ready", &v1.RolloutStatus{State: state, Message: "eu-1 failed"}
		got := readiness(app)
		if got.failed != failed || got.done != failed || failed && got.message != "eu-1 failed" {
			t.Errorf("%s: %+v, want failed to be %t", state, got, failed)
		}
		app.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
		if got := readiness(app); !got.done || got.failed {
			t.Errorf("%s and ready: %+v", state, got)
		}
		app.Status.Conditions, app.Generation = nil, 1
		if got := readiness(app); got.done {
			t.Errorf("%s of the spec before: %+v", state, got)
		}
	}
}
