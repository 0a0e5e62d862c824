package aggregate

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestHeldCopy checks that a copy that leaves, and that finalizers hold, waits for a user: by its own status while
// its objects are deleted, and afterwards, when no controller writes that, by its finalizers.
func TestHeldCopy(t *testing.T) {
	t.Parallel()
	now := metav1.NewTime(time.Unix(10000, 0))
	holds := func(generation int64, status metav1.ConditionStatus) *Copy {
		c := &Copy{Generation: 3, Deleting: true}
		c.Status.Message = "backend: waiting for Deployment a"
		c.Status.Conditions = []metav1.Condition{{Type: v1.ConditionStalled, Status: status, ObservedGeneration: generation, Reason: v1.ReasonSomeFinalizersRemain}}
		return c
	}
	left := func(ago time.Duration) *Copy {
		c := holds(3, metav1.ConditionFalse)
		c.Held, c.HeldSince = ", which finalizer a/b holds", now.Add(-ago)
		return c
	}
	for name, tt := range map[string]struct {
		copied          *Copy
		reason, message string
		stalled         bool
	}{
		"an object, at first":       {holds(3, metav1.ConditionFalse), v1.ReasonDeleting, "backend: waiting for Deployment a", false},
		"an object, for minutes":    {holds(3, metav1.ConditionTrue), v1.ReasonSomeFinalizersRemain, "backend: waiting for Deployment a", true},
		"it stalled before":         {holds(2, metav1.ConditionTrue), v1.ReasonDeleting, "backend: waiting for Deployment a", false},
		"the copy, at first":        {left(time.Minute), v1.ReasonDeleting, "waiting for the copy to be deleted, which finalizer a/b holds", false},
		"the copy, for minutes":     {left(5 * time.Minute), v1.ReasonSomeFinalizersRemain, "waiting for the copy to be deleted, which finalizer a/b holds", true},
		"nothing is deleted so far": {&Copy{Generation: 3}, v1.ReasonDeleting, "waiting for the copy to be deleted", false},
	} {
		var e v1.ClusterStatus
		leaving(&e, Input{Now: now}, Cluster{Name: "eu-1", Connection: Connected, Copy: tt.copied})
		if e.Phase != v1.PhaseDeleting || e.Reason != tt.reason || e.Message != tt.message || e.Stalled != tt.stalled {
			t.Errorf("%s: got %+v", name, e)
		}
	}
}

// TestLastingFailure checks that a copy that the API server of a member fails on waits for a user once that has
// lasted, also while it is to be deleted. What failed before an edit is not known of the edit.
func TestLastingFailure(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]*Failure{
		"at first": {Reason: v1.ReasonApplyFailed}, "for minutes": {Reason: v1.ReasonApplyFailed, Lasting: true}, "refused": {Reason: v1.ReasonInvalidSpec},
		"for minutes, before an edit": {Reason: v1.ReasonApplyFailed, Lasting: true, Earlier: true}, "refused before an edit": {Reason: v1.ReasonInvalidSpec, Earlier: true},
	} {
		lasting := (failure.Lasting || failure.Reason == v1.ReasonInvalidSpec) && !failure.Earlier
		failure.Message = "repair the webhook"
		written := v1.ClusterStatus{Phase: v1.PhaseRunning, Ready: true}
		setFailures(&written, []*Failure{failure})
		var leaves v1.ClusterStatus
		leaving(&leaves, Input{}, Cluster{Name: "eu-1", Connection: Connected, Failure: failure})
		for _, e := range []v1.ClusterStatus{written, leaves} {
			if e.Stalled != lasting || e.Reason != failure.Reason || e.Message != failure.Message || e.Ready {
				t.Errorf("%s: got %+v", name, e)
			}
		}
		if (written.Phase == v1.PhaseFailed) != lasting {
			t.Errorf("%s: phase %s", name, written.Phase)
		}
	}
}

// TestContendedCopy checks that a copy that another client keeps changing works, and waits for a user.
func TestContendedCopy(t *testing.T) {
	t.Parallel()
	for name, propagated := range map[string]bool{"the copy": false, "an object beside it": true} {
		copied := &Copy{Generation: 2, HubGeneration: 2, Status: copyStatus(v1.PhaseRunning, true)}
		copied.Status.ObservedGeneration = 2
		var e v1.ClusterStatus
		c, contended := Cluster{Name: "eu-1", Copy: copied}, &Failure{Reason: v1.ReasonFieldManagerConflict, Message: "stop it"}
		if propagated {
			c.PropagationFailure = contended
		} else {
			c.Failure = contended
		}
		observed(&e, 2, c)
		if !e.Ready || e.Phase != v1.PhaseRunning || e.Stalled == propagated || (e.Message == "stop it") == propagated {
			t.Errorf("%s: got %+v", name, e)
		}
	}
}
