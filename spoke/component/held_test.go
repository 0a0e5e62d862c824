package component_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestHeldDeletion checks that a deletion that finalizers of others hold names them and waits for a user after some
// minutes; also of an object that is deleted while the application stays.
func TestHeldDeletion(t *testing.T) {
	t.Parallel()
	deleted := at(0)
	going := func(finalizers ...string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.DeletionTimestamp, d.Finalizers = &deleted, finalizers }
	}
	const waiting, updating = "waiting for Deployment app-backend to be deleted", "Deployment app-backend is being deleted"
	for name, tt := range map[string]struct {
		finalizers []string
		after      time.Duration
		held       string
		stalled    bool
		due        time.Duration
	}{
		"no finalizer":              {nil, time.Hour, "", false, 0},
		"the garbage collector's":   {[]string{metav1.FinalizerDeleteDependents}, time.Hour, "", false, 0},
		"another's, at first":       {[]string{"example.com/hold"}, time.Minute, ", which finalizer example.com/hold holds until its controller removes it", false, 4 * time.Minute},
		"another's, for minutes":    {[]string{metav1.FinalizerDeleteDependents, "example.com/hold"}, 5 * time.Minute, ", which finalizer example.com/hold holds until its controller removes it", true, 0},
		"several others'":           {[]string{"example.com/b", "example.com/a"}, 5 * time.Minute, ", which finalizers example.com/a, example.com/b hold until their controllers remove them", true, 0},
		"more than a message names": {[]string{"e/e", "d/d", "c/c", "b/b", "a/a"}, time.Hour, ", which finalizers a/a, b/b, c/c hold until their controllers remove them", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exists := live(configMap("app-backend-a", "backend"), deployment("backend", 2, 2, going(tt.finalizers...)))
			now := metav1.NewTime(deleted.Add(tt.after))
			decision := component.DecideDeletion(shop(), exists, owner)
			check := func(summary component.Summary, message string) {
				t.Helper()
				stalled := meta.FindStatusCondition(summary.Conditions, v1.ConditionStalled)
				if is := stalled.Status == metav1.ConditionTrue; is != tt.stalled || is && (stalled.Reason != v1.ReasonSomeFinalizersRemain || stalled.Message != "backend: "+message+tt.held) {
					t.Errorf("Stalled is %+v", stalled)
				}
				if got := summary.States[0].Message; tt.held != "" && got != message+tt.held {
					t.Errorf("message %q, want %q", got, message+tt.held)
				}
				if tt.due > 0 && summary.DeadlineIn != tt.due {
					t.Errorf("it is looked at again in %s, want %s", summary.DeadlineIn, tt.due)
				}
			}
			check(component.Summarize(component.SummaryInput{Generation: 1, States: decision.States, Deleting: true, Now: now}), waiting)
			state := component.Observe(part("backend", nil, deployment("backend", 2, 0)), exists, true)
			check(component.Summarize(component.SummaryInput{Generation: 1, States: []component.State{state}, Now: now}), updating)
		})
	}
}

// TestContendedField checks that a field that another client keeps changing waits for a user, and does not make a
// component fail that works.
func TestContendedField(t *testing.T) {
	t.Parallel()
	problem := component.Problem{Component: "backend", Reason: v1.ReasonFieldManagerConflict, Message: "stop it", Blocking: true, Harmless: true}
	for name, replicas := range map[string]int32{"ready": 2, "not ready": 1} {
		state := component.Observe(part("backend", nil, deployment("backend", 2, 0)), live(deployment("backend", 2, replicas)), true)
		summary := component.Summarize(component.SummaryInput{Generation: 3, ObservedGeneration: 2, States: []component.State{state}, Problems: []component.Problem{problem}, Now: at(0)})
		ready, stalled := meta.FindStatusCondition(summary.Conditions, v1.ConditionReady), meta.FindStatusCondition(summary.Conditions, v1.ConditionStalled)
		if (ready.Status == metav1.ConditionTrue) != (replicas == 2) || summary.Phase == v1.PhaseFailed || summary.ObservedGeneration != 3 {
			t.Errorf("%s: phase %s, Ready %+v, generation %d", name, summary.Phase, ready, summary.ObservedGeneration)
		}
		if stalled.Status != metav1.ConditionTrue || stalled.Reason != v1.ReasonFieldManagerConflict || stalled.Message != "backend: stop it" {
			t.Errorf("%s: Stalled is %+v", name, stalled)
		}
	}
}
