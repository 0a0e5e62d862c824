package component_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

func at(minute int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 1, 2, 12, minute, 0, 0, time.UTC))
}

func ready(name string) component.State {
	return component.State{Name: name, Phase: v1.PhaseRunning, Ready: true, Reason: v1.ReasonRunning, Message: "ready"}
}

func unready(name string, phase v1.Phase, reason string) component.State {
	return component.State{Name: name, Phase: phase, Reason: reason, Message: "not yet"}
}

func progressing(reason string) []metav1.Condition {
	return append(initialized(1), metav1.Condition{Type: v1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: reason})
}

type summary struct {
	in      component.SummaryInput
	phase   v1.Phase
	ready   string
	message string
	reason  string
	trouble string // the reason of Degraded, if it is True
	seen    int64
}

func summaries() map[string]summary {
	off := component.State{Name: "monitoring", Phase: v1.PhaseDisabled, Ready: true}
	blocked := component.Problem{Component: "web", Reason: v1.ReasonForbidden, Message: "not allowed", Blocking: true}
	passing := component.Problem{Component: "web", Reason: v1.ReasonApplyFailed, Message: "timed out"}
	missing := []component.Problem{{Component: "web", Reason: v1.ReasonMissing, Message: "no Secret", Optional: true, Explains: true}}
	crashes := []component.Problem{{Component: "web", Reason: v1.ReasonCrashLoopBackOff, Message: "exit code 1", Optional: true, Explains: true}}
	return map[string]summary{
		"running": {component.SummaryInput{States: []component.State{ready("db"), ready("web"), off}},
			v1.PhaseRunning, "2/2", "Application is running", v1.ReasonRunning, "", 7},
		"creating": {component.SummaryInput{States: []component.State{ready("db"), unready("web", v1.PhaseCreating, v1.ReasonWaitingForReplicas)}},
			v1.PhaseCreating, "1/2", "web: not yet", v1.ReasonWaitingForReplicas, "", 7},
		"updating": {component.SummaryInput{Previous: initialized(1), States: []component.State{unready("web", v1.PhaseUpdating, v1.ReasonProgressing)}},
			v1.PhaseUpdating, "0/1", "web: not yet", v1.ReasonProgressing, "", 7},
		"scaling": {component.SummaryInput{Previous: initialized(1), States: []component.State{unready("web", v1.PhaseScaling, v1.ReasonScaling)}},
			v1.PhaseScaling, "0/1", "web: not yet", v1.ReasonScaling, "", 7},
		"still scaling": {component.SummaryInput{Previous: progressing("Scaling"), States: []component.State{unready("web", v1.PhaseUpdating, v1.ReasonWaitingForReplicas)}},
			v1.PhaseScaling, "0/1", "web: not yet", v1.ReasonWaitingForReplicas, "", 7},
		"still scaling, and copying": {component.SummaryInput{Previous: progressing("Scaling"), States: []component.State{unready("web", v1.PhaseUpdating, v1.ReasonCopyingData)}},
			v1.PhaseScaling, "0/1", "web: not yet", v1.ReasonCopyingData, "", 7},
		"still updating": {component.SummaryInput{Previous: progressing("Updating"), States: []component.State{unready("web", v1.PhaseUpdating, v1.ReasonWaitingForReplicas)}},
			v1.PhaseUpdating, "0/1", "web: not yet", v1.ReasonWaitingForReplicas, "", 7},
		"updating while scaling": {component.SummaryInput{Previous: progressing("Scaling"),
			States: []component.State{unready("db", v1.PhaseUpdating, v1.ReasonProgressing), unready("web", v1.PhaseScaling, v1.ReasonScaling)}},
			v1.PhaseUpdating, "0/2", "db: not yet", v1.ReasonProgressing, "", 7},
		"failed": {component.SummaryInput{Previous: initialized(1),
			States: []component.State{unready("db", v1.PhaseUpdating, v1.ReasonProgressing), unready("web", v1.PhaseFailed, v1.ReasonDeadlineExceeded)}},
			v1.PhaseFailed, "0/2", "web: not yet", v1.ReasonDeadlineExceeded, v1.ReasonDeadlineExceeded, 7},
		"forbidden": {component.SummaryInput{ObservedGeneration: 6, States: []component.State{ready("db"), ready("web")}, Problems: []component.Problem{blocked}},
			v1.PhaseFailed, "1/2", "web: not allowed", v1.ReasonForbidden, v1.ReasonForbidden, 7},
		"trouble while running": {component.SummaryInput{ObservedGeneration: 6, Previous: initialized(1), States: []component.State{ready("web")}, Problems: []component.Problem{passing}},
			v1.PhaseRunning, "1/1", "Application is running", v1.ReasonRunning, v1.ReasonApplyFailed, 6},
		"trouble while creating": {component.SummaryInput{States: []component.State{unready("web", v1.PhaseCreating, v1.ReasonProgressing)}, Problems: []component.Problem{passing}},
			v1.PhaseCreating, "0/1", "web: timed out", v1.ReasonApplyFailed, v1.ReasonApplyFailed, 0},
		"a Secret is missing while creating": {component.SummaryInput{Problems: missing,
			States: []component.State{unready("web", v1.PhaseCreating, v1.ReasonWaitingForReplicas)}},
			v1.PhaseCreating, "0/1", "web: not yet; no Secret", v1.ReasonMissing, v1.ReasonMissing, 7},
		"a Secret is missing while running": {component.SummaryInput{ObservedGeneration: 6, States: []component.State{ready("web")}, Problems: missing},
			v1.PhaseRunning, "1/1", "Application is running", v1.ReasonRunning, v1.ReasonMissing, 7},
		"a Secret is missing while scaling": {component.SummaryInput{Previous: progressing("Scaling"), Problems: missing,
			States: []component.State{unready("web", v1.PhaseUpdating, v1.ReasonWaitingForReplicas)}},
			v1.PhaseScaling, "0/1", "web: not yet; no Secret", v1.ReasonMissing, v1.ReasonMissing, 7},
		"a Secret is missing, and there is no progress": {component.SummaryInput{Previous: initialized(1), Problems: missing,
			States: []component.State{unready("web", v1.PhaseFailed, v1.ReasonDeadlineExceeded)}},
			v1.PhaseFailed, "0/1", "web: not yet; no Secret", v1.ReasonDeadlineExceeded, v1.ReasonDeadlineExceeded, 7},
		"pods crash while scaling": {component.SummaryInput{Previous: progressing("Scaling"), Problems: crashes,
			States: []component.State{unready("web", v1.PhaseUpdating, v1.ReasonWaitingForReplicas)}},
			v1.PhaseScaling, "0/1", "web: not yet; exit code 1", v1.ReasonCrashLoopBackOff, v1.ReasonCrashLoopBackOff, 7},
		"nothing could be observed": {component.SummaryInput{Previous: initialized(1), Problems: []component.Problem{{Reason: v1.ReasonApplyFailed, Message: "timed out"}}},
			v1.PhaseUpdating, "0/0", "timed out", v1.ReasonApplyFailed, v1.ReasonApplyFailed, 0},
		"invalid": {component.SummaryInput{Problems: []component.Problem{{Reason: v1.ReasonInvalidSpec, Message: "spec.x must be y", Blocking: true}}},
			v1.PhaseFailed, "0/0", "spec.x must be y", v1.ReasonInvalidSpec, v1.ReasonInvalidSpec, 7},
		"a write met a newer object": {component.SummaryInput{ObservedGeneration: 6, Incomplete: true, States: []component.State{ready("web")}},
			v1.PhaseRunning, "1/1", "Application is running", v1.ReasonRunning, "", 6},
		"deleting": {component.SummaryInput{Deleting: true, Previous: initialized(1), States: []component.State{unready("web", v1.PhaseDeleting, v1.ReasonDeleting)}},
			v1.PhaseDeleting, "0/1", "web: not yet", v1.ReasonDeleting, "", 7},
		"deleting is refused": {component.SummaryInput{Deleting: true, States: []component.State{unready("web", v1.PhaseDeleting, v1.ReasonDeleting)}, Problems: []component.Problem{blocked}},
			v1.PhaseDeleting, "0/1", "web: not allowed", v1.ReasonDeleting, v1.ReasonForbidden, 7},
	}
}

func TestSummarize(t *testing.T) {
	for name, tt := range summaries() {
		t.Run(name, func(t *testing.T) {
			tt.in.Generation, tt.in.Now = 7, at(0)
			got := component.Summarize(tt.in)
			if got.Phase != tt.phase || got.Ready != tt.ready || got.Message != tt.message || got.ObservedGeneration != tt.seen {
				t.Errorf("got %s, %s, %q, generation %d", got.Phase, got.Ready, got.Message, got.ObservedGeneration)
			}
			is := meta.FindStatusCondition(got.Conditions, v1.ConditionReady)
			if (is.Status == metav1.ConditionTrue) != (tt.phase == v1.PhaseRunning) || is.Reason != tt.reason || is.Message != tt.message {
				t.Errorf("Ready is %s, %s, %q", is.Status, is.Reason, is.Message)
			}
			degraded := meta.FindStatusCondition(got.Conditions, v1.ConditionDegraded)
			if (degraded.Status == metav1.ConditionTrue) != (tt.trouble != "") || tt.trouble != "" && degraded.Reason != tt.trouble {
				t.Errorf("Degraded is %s, %s", degraded.Status, degraded.Reason)
			}
		})
	}
}

// TestConditionsKeepTheirTimes checks that only a change moves a transition time,
// that the latch keeps the generation that was ready, and that others' conditions stay.
func TestConditionsKeepTheirTimes(t *testing.T) {
	first := component.Summarize(component.SummaryInput{Generation: 1, Now: at(1), States: []component.State{ready("web")}})
	again := component.Summarize(component.SummaryInput{Generation: 1, Now: at(2), States: []component.State{ready("web")}, Previous: first.Conditions})
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the same again (-first +again):\n%s", diff)
	}
	theirs := metav1.Condition{Type: "Theirs", Status: metav1.ConditionTrue, Reason: "Theirs", LastTransitionTime: at(0)}
	down := component.Summarize(component.SummaryInput{
		Generation: 2, Now: at(3), Previous: append(first.Conditions, theirs),
		States: []component.State{unready("web", v1.PhaseUpdating, v1.ReasonProgressing)},
	})
	times := make(map[string]int)
	for _, c := range down.Conditions {
		times[c.Type] = c.LastTransitionTime.Minute()
	}
	want := map[string]int{"Ready": 3, "Progressing": 3, "Degraded": 1, "Initialized": 1, "Available": 1, "Stalled": 1, "Theirs": 0}
	if diff := cmp.Diff(want, times); diff != "" {
		t.Errorf("minutes of transitions (-want +got):\n%s", diff)
	}
	if latch := meta.FindStatusCondition(down.Conditions, v1.ConditionInitialized); latch.ObservedGeneration != 1 || latch.Status != metav1.ConditionTrue {
		t.Errorf("the latch is %s for generation %d", latch.Status, latch.ObservedGeneration)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	got := component.Summarize(component.SummaryInput{
		Problems: []component.Problem{{Reason: v1.ReasonInvalidSpec, Message: strings.Repeat("ü", 5000), Blocking: true}},
	})
	if len(got.Message) > 1024 || !utf8.ValidString(got.Message) || !strings.HasSuffix(got.Message, "...") {
		t.Errorf("message has %d bytes and ends in %q", len(got.Message), got.Message[len(got.Message)-5:])
	}
}

// TestTransitions walks random applications through random observations: each
// step from phase to phase is one of the table, and Deleting is never left.
func TestTransitions(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	walked := make(map[[2]v1.Phase]bool)
	for range 3000 {
		phase, conditions, deleting, generation := v1.PhasePending, []metav1.Condition(nil), false, int64(1)
		for step := range 20 {
			generation += int64(random.IntN(8) / 7)
			deleting = deleting || random.IntN(15) == 0
			in := component.SummaryInput{Generation: generation, Now: at(3 * step), Previous: conditions, Deleting: deleting, Paused: random.IntN(8) == 0,
				States: states(random, conditions), Problems: problems(random)}
			got := component.Summarize(in)
			if !component.Known(got.Phase) || !component.Legal(phase, got.Phase) {
				t.Fatalf("from %s to %s by %+v", phase, got.Phase, in)
			}
			if c := meta.FindStatusCondition(got.Conditions, v1.ConditionProgressing); in.Paused && !deleting &&
				(got.Phase != v1.PhasePaused || c.Status != metav1.ConditionFalse || c.Reason != v1.ReasonPaused || got.DeadlineIn != 0) {
				t.Fatalf("paused: %s, %+v, deadline in %s", got.Phase, c, got.DeadlineIn)
			}
			walked[[2]v1.Phase{phase, got.Phase}] = true
			phase, conditions = got.Phase, got.Conditions
		}
	}
	for from, tos := range component.Transitions() {
		for _, to := range tos {
			if !walked[[2]v1.Phase{from, to}] {
				t.Errorf("%s to %s is in the table and was never walked", from, to)
			}
		}
	}
}

// states draws what Observe and Decide may say, given the latch.
func states(random *rand.Rand, conditions []metav1.Condition) []component.State {
	first := !meta.IsStatusConditionTrue(conditions, v1.ConditionInitialized)
	list := make([]component.State, 0, 2)
	for _, name := range []string{"db", "web"}[:random.IntN(3)] {
		drawn := []component.State{
			ready(name), ready(name), ready(name),
			unready(name, v1.PhaseUpdating, v1.ReasonProgressing),
			unready(name, v1.PhaseUpdating, v1.ReasonWaitingForReplicas),
			unready(name, v1.PhaseUpdating, v1.ReasonWaitingForStorage),
			unready(name, v1.PhaseScaling, v1.ReasonScaling),
			unready(name, v1.PhasePending, v1.ReasonWaitingForDependency),
			unready(name, v1.PhaseFailed, v1.ReasonDeadlineExceeded),
			{Name: name, Phase: v1.PhaseDisabled, Ready: true},
			{Name: name, Phase: v1.PhaseUpdating, Reason: v1.ReasonWaitingForReplicas, Timed: true},
			{Name: name, Phase: v1.PhaseUpdating, Reason: v1.ReasonWaitingForStorage, Timed: true, Growing: true},
		}[random.IntN(12)]
		if first && !drawn.Ready && drawn.Phase != v1.PhaseFailed && drawn.Phase != v1.PhasePending {
			drawn.Phase = v1.PhaseCreating
		}
		list = append(list, drawn)
	}
	return list
}

func problems(random *rand.Rand) []component.Problem {
	switch random.IntN(10) {
	case 0:
		return []component.Problem{{Component: "web", Reason: v1.ReasonForbidden, Message: "x", Blocking: true}}
	case 1:
		return []component.Problem{{Reason: v1.ReasonInvalidSpec, Message: "x", Blocking: true}}
	case 3:
		return []component.Problem{{Component: "db", Reason: v1.ReasonStorageNotExpandable, Message: "x", Blocking: true}}
	case 2:
		return []component.Problem{{Component: "db", Reason: v1.ReasonApplyFailed, Message: "x"}}
	default:
		return nil
	}
}

// TestLegal names what must never be.
func TestLegal(t *testing.T) {
	for _, to := range []v1.Phase{v1.PhasePending, v1.PhaseCreating, v1.PhaseRunning, v1.PhaseUpdating, v1.PhaseScaling, v1.PhaseFailed} {
		if component.Legal(v1.PhaseDeleting, to) {
			t.Errorf("Deleting may become %s", to)
		}
	}
	for _, pair := range [][2]v1.Phase{{v1.PhaseRunning, v1.PhaseCreating}, {v1.PhaseRunning, v1.PhasePending}, {"Foo", v1.PhaseRunning}, {"Foo", "Foo"}} {
		if component.Legal(pair[0], pair[1]) {
			t.Errorf("%s may become %s", pair[0], pair[1])
		}
	}
}

// TestSupported checks that fields without effect are named for as long as there are some.
func TestSupported(t *testing.T) {
	in := component.SummaryInput{Generation: 2, Now: at(0), States: []component.State{ready("db")}, Unsupported: "no effect: spec.a, spec.b"}
	got := component.Summarize(in)
	c := meta.FindStatusCondition(got.Conditions, v1.ConditionSupported)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1.ReasonNotSupported || c.ObservedGeneration != 2 ||
		c.Message != "no effect: spec.a, spec.b" || got.Phase != v1.PhaseRunning {
		t.Errorf("%s: %+v", got.Phase, c)
	}
	in.Previous, in.Now, in.Unsupported = got.Conditions, at(1), "no effect: spec.a"
	got = component.Summarize(in)
	if c := meta.FindStatusCondition(got.Conditions, v1.ConditionSupported); c == nil || !c.LastTransitionTime.Equal(new(at(0))) {
		t.Errorf("%+v", c)
	}
	in.Previous, in.Unsupported = got.Conditions, ""
	if c := meta.FindStatusCondition(component.Summarize(in).Conditions, v1.ConditionSupported); c != nil {
		t.Errorf("it stays: %+v", c)
	}
}

// TestDatabaseLost checks that a database whose data is lost is neither ready nor available, whatever else is
// so, that a user is waited for, and that the condition ends with the loss.
func TestDatabaseLost(t *testing.T) {
	lost := component.Problem{Component: "db", Reason: v1.ReasonDatabaseLost, Blocking: true, Message: "restore a backup"}
	waits := ready("db")
	waits.Ready, waits.Reason, waits.Unavailable = false, v1.ReasonWaitingForReplicas, "pod db-0 is not ready"
	for name, state := range map[string]component.State{
		"the primary waits":                 waits,
		"the primary is ready to be loaded": ready("db"),
	} {
		in := component.SummaryInput{Generation: 2, Now: at(0), States: []component.State{state, ready("web")}, Problems: []component.Problem{lost}, Lost: lost.Message}
		got := component.Summarize(in)
		for kind, want := range map[string]metav1.Condition{
			v1.ConditionDatabaseLost: {Status: metav1.ConditionTrue, Reason: v1.ReasonDatabaseLost, Message: "restore a backup"},
			v1.ConditionStalled:      {Status: metav1.ConditionTrue, Reason: v1.ReasonDatabaseLost, Message: "db: restore a backup"},
			v1.ConditionDegraded:     {Status: metav1.ConditionTrue, Reason: v1.ReasonDatabaseLost, Message: "db: restore a backup"},
			v1.ConditionReady:        {Status: metav1.ConditionFalse, Reason: v1.ReasonDatabaseLost, Message: "db: restore a backup"},
			v1.ConditionAvailable:    {Status: metav1.ConditionFalse, Reason: v1.ReasonUnavailable, Message: "db: the data of the database is lost"},
		} {
			c := meta.FindStatusCondition(got.Conditions, kind)
			if c == nil || c.Status != want.Status || c.Reason != want.Reason || c.Message != want.Message {
				t.Errorf("%s: %s is %+v", name, kind, c)
			}
		}
		if got.Phase != v1.PhaseFailed || got.States[0].Ready || got.States[0].Reason != v1.ReasonDatabaseLost {
			t.Errorf("%s: %s, %+v", name, got.Phase, got.States[0])
		}
		in.Previous, in.Problems, in.Lost = got.Conditions, nil, ""
		if c := meta.FindStatusCondition(component.Summarize(in).Conditions, v1.ConditionDatabaseLost); c != nil {
			t.Errorf("%s: it stays: %+v", name, c)
		}
	}
}

// TestEachProblem checks that a problem that explains one component, or is tolerated, does not hide that of the next.
func TestEachProblem(t *testing.T) {
	off := component.State{Name: "cache", Phase: v1.PhaseDisabled, Ready: true}
	explains := component.Problem{Component: "web", Reason: v1.ReasonCrashLoopBackOff, Message: "exit code 1", Optional: true, Explains: true}
	small := component.Problem{Component: "db", Reason: v1.ReasonStorageNotExpandable, Message: "too small", Blocking: true}
	optional := component.Problem{Component: "web", Reason: v1.ReasonMissing, Message: "no rule", Optional: true}
	blocked := component.Problem{Component: "api", Reason: v1.ReasonForbidden, Message: "not allowed", Blocking: true}
	for name, first := range map[string]component.Problem{"explains": explains, "tolerated": small, "optional": optional, "elsewhere": {Component: "gone", Message: "m"}} {
		got := component.Summarize(component.SummaryInput{Problems: []component.Problem{first, blocked}, States: []component.State{
			off, ready("db"), unready("web", v1.PhaseCreating, v1.ReasonWaitingForReplicas), ready("api"),
		}})
		if got.Phase != v1.PhaseFailed || got.Ready != "1/3" {
			t.Errorf("%s: phase %s, ready %s", name, got.Phase, got.Ready)
		}
	}
}
