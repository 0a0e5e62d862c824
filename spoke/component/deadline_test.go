package component_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// down returns the state of a database that is not ready, which is timed.
func down() component.State {
	s := unready("db", v1.PhaseUpdating, v1.ReasonWaitingForReplicas)
	s.Timed = true
	return s
}

// observation is one look at an application.
type observation struct {
	minute     int
	generation int64
	states     []component.State
	problems   []component.Problem
	phase      v1.Phase
	// due is the minute at which the deadline passes; 0 for none.
	due int
}

func (o observation) summarize(conditions []metav1.Condition, last []component.State) component.Summary {
	return component.Summarize(component.SummaryInput{
		Generation: o.generation, Now: at(o.minute), Previous: conditions, Last: last, States: o.states, Problems: o.problems,
	})
}

// histories returns histories that start with an application that was ready in generation 1, and has not been since
// minute 1.
func histories() map[string][]observation {
	web := unready("web", v1.PhaseUpdating, v1.ReasonWaitingForReplicas)
	failedBefore := unready("web", v1.PhaseFailed, v1.ReasonDeadlineExceeded)
	both := []component.State{ready("db"), ready("web")}
	noDB := []component.State{down(), ready("web")}
	passing := []component.Problem{{Component: "db", Reason: v1.ReasonApplyFailed, Message: "timed out"}}
	blocked := []component.Problem{{Component: "db", Reason: v1.ReasonForbidden, Message: "not allowed", Blocking: true}}
	return map[string][]observation{
		"in time": {{1, 2, noDB, nil, v1.PhaseUpdating, 11}, {10, 2, noDB, nil, v1.PhaseUpdating, 11}, {11, 2, both, nil, v1.PhaseRunning, 0}},
		"stays failed until it is ready": {{1, 2, noDB, nil, v1.PhaseUpdating, 11}, {11, 2, noDB, nil, v1.PhaseFailed, 0},
			{12, 2, noDB, nil, v1.PhaseFailed, 0}, {13, 2, noDB, passing, v1.PhaseFailed, 0}, {30, 2, noDB, nil, v1.PhaseFailed, 0},
			{31, 2, both, nil, v1.PhaseRunning, 0}, {40, 2, noDB, nil, v1.PhaseUpdating, 50}},
		"stays failed until the spec changes": {{1, 2, noDB, nil, v1.PhaseUpdating, 11}, {11, 2, noDB, nil, v1.PhaseFailed, 0},
			{12, 3, noDB, nil, v1.PhaseUpdating, 22}, {21, 3, noDB, nil, v1.PhaseUpdating, 22}, {22, 3, noDB, nil, v1.PhaseFailed, 0}},
		"a new spec has a deadline of its own": {{1, 2, noDB, nil, v1.PhaseUpdating, 11}, {9, 3, noDB, nil, v1.PhaseUpdating, 19},
			{18, 3, noDB, nil, v1.PhaseUpdating, 19}, {19, 3, noDB, nil, v1.PhaseFailed, 0}},
		"so has each component": {{1, 2, []component.State{ready("db"), web}, nil, v1.PhaseUpdating, 0},
			{15, 2, []component.State{down(), web}, nil, v1.PhaseUpdating, 25}, {25, 2, []component.State{down(), web}, nil, v1.PhaseFailed, 0}},
		"another's failure is not ours": {{1, 2, []component.State{ready("db"), failedBefore}, nil, v1.PhaseFailed, 0},
			{15, 2, []component.State{down(), web}, nil, v1.PhaseUpdating, 25}},
		"the cluster watches Deployments": {{1, 2, []component.State{ready("db"), web}, nil, v1.PhaseUpdating, 0},
			{59, 2, []component.State{ready("db"), web}, nil, v1.PhaseUpdating, 0}},
		"what is refused is no matter of time": {{1, 2, noDB, nil, v1.PhaseUpdating, 11}, {11, 2, noDB, blocked, v1.PhaseFailed, 0},
			{12, 2, noDB, nil, v1.PhaseUpdating, 22}},
		"a late look": {{1, 2, noDB, nil, v1.PhaseUpdating, 11}, {59, 2, noDB, nil, v1.PhaseFailed, 0}},
	}
}

// progressHistories returns histories of the progress of a database of three pods.
func progressHistories() map[string][]observation {
	state := func(n, updated int32) []component.State {
		s := down()
		s.Replicas, s.ReadyReplicas, s.UpdatedReplicas = 3, n, updated
		return []component.State{s, ready("web")}
	}
	copying := func(reason string) []component.State {
		s := state(1, 3)
		s[0].Copying, s[0].Reason = true, reason
		return s
	}
	seeding := copying(v1.ReasonCopyingData)
	passing := []component.Problem{{Component: "db", Reason: v1.ReasonApplyFailed, Message: "timed out"}}
	both := []component.State{ready("db"), ready("web")}
	return map[string][]observation{
		"a pod that becomes ready": {{1, 2, state(1, 3), nil, v1.PhaseUpdating, 11}, {9, 2, state(2, 3), nil, v1.PhaseUpdating, 19},
			{18, 2, state(2, 3), nil, v1.PhaseUpdating, 19}, {19, 2, state(2, 3), nil, v1.PhaseFailed, 0}, {59, 2, state(2, 3), nil, v1.PhaseFailed, 0}},
		"a pod that is updated": {{1, 2, state(3, 0), nil, v1.PhaseUpdating, 11}, {9, 2, state(2, 1), nil, v1.PhaseUpdating, 19},
			{19, 2, state(2, 1), nil, v1.PhaseFailed, 0}},
		"a pod that is lost is no progress": {{1, 2, state(2, 3), nil, v1.PhaseUpdating, 11}, {9, 2, state(1, 3), nil, v1.PhaseUpdating, 11},
			{11, 2, state(1, 3), nil, v1.PhaseFailed, 0}},
		"a failed one that makes progress": {{1, 2, state(1, 3), nil, v1.PhaseUpdating, 11}, {11, 2, state(1, 3), nil, v1.PhaseFailed, 0},
			{12, 2, state(2, 3), nil, v1.PhaseUpdating, 22}, {22, 2, state(2, 3), nil, v1.PhaseFailed, 0}},
		"a copy that takes hours": {{1, 2, state(1, 3), nil, v1.PhaseUpdating, 11}, {2, 2, seeding, nil, v1.PhaseUpdating, 0},
			{300, 2, seeding, nil, v1.PhaseUpdating, 0}, {301, 2, state(1, 3), nil, v1.PhaseUpdating, 311}, {302, 2, state(2, 3), nil, v1.PhaseUpdating, 312},
			{303, 2, seeding, nil, v1.PhaseUpdating, 0}, {600, 2, both, nil, v1.PhaseRunning, 0}},
		"a copy that crashes again and again": {{1, 2, seeding, nil, v1.PhaseUpdating, 0}, {30, 2, state(1, 3), nil, v1.PhaseUpdating, 40},
			{40, 2, state(1, 3), nil, v1.PhaseFailed, 0}, {41, 2, state(1, 3), nil, v1.PhaseFailed, 0}, {90, 2, state(1, 3), nil, v1.PhaseFailed, 0}},
		"a copy after a failure": {{1, 2, state(1, 3), nil, v1.PhaseUpdating, 11}, {11, 2, state(1, 3), nil, v1.PhaseFailed, 0},
			{12, 2, seeding, nil, v1.PhaseUpdating, 0}, {90, 2, seeding, nil, v1.PhaseUpdating, 0}, {91, 2, state(1, 3), nil, v1.PhaseUpdating, 101},
			{101, 2, state(1, 3), nil, v1.PhaseFailed, 0}},
		"a copy while a write fails": {{1, 2, seeding, nil, v1.PhaseUpdating, 0}, {30, 2, copying(v1.ReasonProgressing), passing, v1.PhaseUpdating, 0},
			{59, 2, seeding, nil, v1.PhaseUpdating, 0}},
	}
}

// TestDeadline checks when a StatefulSet fails, for how long, and when to look again.
func TestDeadline(t *testing.T) {
	all := histories()
	maps.Copy(all, progressHistories())
	for name, history := range all {
		t.Run(name, func(t *testing.T) {
			start := component.Summarize(component.SummaryInput{Generation: 1, Now: at(0), States: []component.State{ready("db"), ready("web")}})
			phase, conditions, last := start.Phase, start.Conditions, start.States
			for _, o := range history {
				got := o.summarize(conditions, last)
				due := time.Duration(max(o.due-o.minute, 0)) * time.Minute
				if got.Phase != o.phase || got.DeadlineIn != due {
					t.Errorf("minute %d: got %s, due in %v; want %s, %v", o.minute, got.Phase, got.DeadlineIn, o.phase, due)
				}
				if !component.Legal(phase, got.Phase) {
					t.Errorf("minute %d: from %s to %s", o.minute, phase, got.Phase)
				}
				phase, conditions, last = got.Phase, got.Conditions, got.States
				if diff := cmp.Diff(got, o.summarize(conditions, last)); diff != "" {
					t.Errorf("minute %d: the same again (-first +again):\n%s", o.minute, diff)
				}
			}
		})
	}
}

// TestDeadlineTells checks what is said of a StatefulSet that failed.
func TestDeadlineTells(t *testing.T) {
	first := component.Summarize(component.SummaryInput{Generation: 1, Now: at(0), States: []component.State{down()}})
	got := component.Summarize(component.SummaryInput{Generation: 1, Now: at(10), Previous: first.Conditions, States: []component.State{down()}})
	const want = "db: no progress within 10 minutes: not yet"
	for _, kind := range []string{v1.ConditionReady, v1.ConditionProgressing, v1.ConditionDegraded} {
		c := meta.FindStatusCondition(got.Conditions, kind)
		if c.Reason != v1.ReasonDeadlineExceeded || (c.Status == metav1.ConditionTrue) != (kind == v1.ConditionDegraded) {
			t.Errorf("%s is %s, %s", kind, c.Status, c.Reason)
		}
		if kind != v1.ConditionProgressing && c.Message != want {
			t.Errorf("%s says %q, want %q", kind, c.Message, want)
		}
	}
	if got.Phase != v1.PhaseFailed || got.Message != want || got.States[0].Phase != v1.PhaseFailed {
		t.Errorf("got %s, %q, state %+v", got.Phase, got.Message, got.States[0])
	}
	again := component.Summarize(component.SummaryInput{Generation: 1, Now: at(20), Previous: got.Conditions, States: []component.State{down()}})
	if again.Message != got.Message || !meta.FindStatusCondition(again.Conditions, v1.ConditionDegraded).LastTransitionTime.Equal(&got.Conditions[2].LastTransitionTime) {
		t.Errorf("later it says %q", again.Message)
	}
}

// TestUnobservedKeepsItsTime checks that a problem of no component, seen again and
// again, changes nothing.
func TestUnobservedKeepsItsTime(t *testing.T) {
	in := component.SummaryInput{Generation: 1, Now: at(0), Problems: []component.Problem{{Reason: v1.ReasonApplyFailed, Message: "writing failed: see the log"}}}
	first := component.Summarize(in)
	in.Now, in.Previous = at(5), first.Conditions
	if again := component.Summarize(in); !meta.FindStatusCondition(again.Conditions, v1.ConditionProgressing).LastTransitionTime.Equal(&first.Conditions[1].LastTransitionTime) {
		t.Error("a condition that is as it was got another time")
	}
}

// TestDeadlineWithoutReady checks that progress of a component has its own time, also where no condition Ready is
// known.
func TestDeadlineWithoutReady(t *testing.T) {
	progress := metav1.Condition{Type: v1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: v1.ReasonWaitingForReplicas, ObservedGeneration: 7, LastTransitionTime: at(0)}
	got := component.Summarize(component.SummaryInput{
		Generation: 7, ObservedGeneration: 7, Previous: []metav1.Condition{progress}, Now: at(5),
		States: []component.State{unready("web", v1.PhaseUpdating, v1.ReasonWaitingForReplicas)},
	})
	if c := meta.FindStatusCondition(got.Conditions, v1.ConditionProgressing); c == nil || !c.LastTransitionTime.Equal(new(at(5))) {
		t.Errorf("condition %+v, want it since %s", c, new(at(5)))
	}
}
