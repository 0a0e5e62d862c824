package steps

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestAdvance runs passes over three steps and checks what is recorded of them.
func TestAdvance(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return time.Date(2030, 1, 1, 0, 0, second, 999, time.UTC) }
	begun := func(name string, second int) v1.StepStatus {
		return v1.StepStatus{Name: name, StartTime: metav1.NewTime(at(second).Truncate(time.Second))}
	}
	complete := func(name string, start, end int) v1.StepStatus {
		s := begun(name, start)
		s.EndTime = v1.Seconds(at(end))
		return s
	}
	errServer := errors.New("no API server")
	for name, tt := range map[string]struct {
		recorded []v1.StepStatus
		// waits names the step that is not complete, fails the one with an error.
		waits, fails string
		want         []v1.StepStatus
	}{
		"the first waits": {waits: "Begin", want: []v1.StepStatus{begun("Begin", 9)}},
		"it waits on":     {recorded: []v1.StepStatus{begun("Begin", 1)}, waits: "Begin", want: []v1.StepStatus{begun("Begin", 1)}},
		"the second waits": {
			recorded: []v1.StepStatus{begun("Begin", 1)}, waits: "Copy", want: []v1.StepStatus{complete("Begin", 1, 9), begun("Copy", 9)},
		},
		"a complete one waits again": {
			recorded: []v1.StepStatus{complete("Begin", 1, 2), begun("Copy", 2)}, waits: "Begin",
			want: []v1.StepStatus{complete("Begin", 1, 2), begun("Copy", 2)},
		},
		"an error": {
			recorded: []v1.StepStatus{complete("Begin", 1, 2), begun("Copy", 2)}, fails: "Seal",
			want: []v1.StepStatus{complete("Begin", 1, 2), complete("Copy", 2, 9), begun("Seal", 9)},
		},
		"all at once": {want: []v1.StepStatus{complete("Begin", 9, 9), complete("Copy", 9, 9), complete("Seal", 9, 9)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := func(name string) Step {
				return Step{Name: name, Run: func(context.Context) (Result, error) {
					switch name {
					case tt.waits:
						return RetryAfter(time.Second, "Waiting", "not yet"), nil
					case tt.fails:
						return Result{}, errServer
					}
					return Result{}, nil
				}}
			}
			recorded := tt.recorded
			result, err := Advance(t.Context(), []Step{step("Begin"), step("Copy"), step("Seal")}, &recorded, at(9))
			if result.Stops() != (tt.waits != "") || errors.Is(err, errServer) != (tt.fails != "") {
				t.Errorf("got %+v, %v", result, err)
			}
			if diff := cmp.Diff(tt.want, recorded); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUndoable checks that a step that is to be taken back is recorded before it runs, that one that is complete is not run
// again if it says so, and that steps are taken back from the last one that was begun.
func TestUndoable(t *testing.T) {
	t.Parallel()
	var ran []string
	step := func(name string, waits bool) Step {
		note := func(what string) func(context.Context) (Result, error) {
			return func(context.Context) (Result, error) {
				if ran = append(ran, what+name); waits && what == "" {
					return RetryAfter(time.Second, "Waiting", "not yet"), nil
				}
				return Result{}, nil
			}
		}
		return Step{Name: name, Run: note(""), Undo: note("undo "), Once: true}
	}
	resolve := step("Resolve", false)
	resolve.Undo = nil
	retire := step("Retire", true)
	retire.Undo, retire.NoWayBack = nil, true
	all := []Step{resolve, step("Import", false), step("Stop", false), retire, step("Bind", false)}
	var recorded []v1.StepStatus
	for i, want := range [][]string{{"Resolve"}, {"Import"}, {"Stop"}, {"Retire"}, {"Retire"}} {
		ran = nil
		result, err := Advance(t.Context(), all, &recorded, time.Unix(int64(i), 0))
		if diff := cmp.Diff(want, ran); diff != "" || !result.Stops() || err != nil {
			t.Errorf("pass %d: %+v, %v, ran (-want +got):\n%s", i, result, err, diff)
		}
	}
	if !Begun(recorded, "Retire") || Complete(recorded, "Retire") || !Complete(recorded, "Stop") || Begun(recorded, "Bind") {
		t.Errorf("recorded %+v", recorded)
	}
	ran = nil
	if result, err := Unwind(t.Context(), all, recorded); result.Stops() || err != nil {
		t.Errorf("%+v, %v", result, err)
	}
	if diff := cmp.Diff([]string{"undo Stop", "undo Import"}, ran); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
}

func TestThen(t *testing.T) {
	t.Parallel()
	errServer := errors.New("no API server")
	give := func(result Result, err error) func(context.Context) (Result, error) {
		return func(context.Context) (Result, error) { return result, err }
	}
	wait := RetryAfter(time.Second, "Waiting", "not yet")
	for name, tt := range map[string]struct {
		first, next func(context.Context) (Result, error)
		want        Result
		err         error
	}{
		"the first waits": {give(wait, nil), give(Result{}, errServer), wait, nil},
		"the next waits":  {give(Result{}, nil), give(wait, nil), wait, nil},
		"an error":        {give(Result{}, errServer), give(wait, nil), Result{}, errServer},
		"both complete":   {give(Result{}, nil), give(Result{}, nil), Result{}, nil},
	} {
		if got, err := Then(tt.first, tt.next)(t.Context()); got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
