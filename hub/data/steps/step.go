package steps

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Step is a part of the work on an object. What it has done is in the status, in the
// member or in the cloud, so that it can be repeated; once it is complete it does nothing.
type Step struct {
	Name string
	// Run does what can be done now. The zero Result means that the step is complete. An
	// error is one of the hub's API server.
	Run func(context.Context) (Result, error)
	// Undo takes back what Run did, or may have done. The zero Result means that nothing of it is left. Nil: there is
	// nothing to take back.
	Undo func(context.Context) (Result, error)
	// NoWayBack means that the steps before it cannot be taken back once it was begun.
	NoWayBack bool
	// Once means that a step that is recorded as complete is not run again: what it did is not looked at any more.
	Once bool
}

// Then returns a Run that continues with the next one when the first is complete.
func Then(first, next func(context.Context) (Result, error)) func(context.Context) (Result, error) {
	return func(ctx context.Context) (Result, error) {
		if result, err := first(ctx); result.Stops() || err != nil {
			return result, err
		}
		return next(ctx)
	}
}

// Advance runs steps in their order, up to the first that is not complete, and records in the status when each of them
// was begun and when it was complete. The record only grows: but for those of Once, each pass runs the steps that are
// complete too, and one of them may wait, as for the member that it reads, while the object stands where it was. A step that
// has to be taken back, or after which nothing can be, runs in the pass after the one that records its begin: the caller
// stores the record in between.
func Advance(ctx context.Context, all []Step, recorded *[]v1.StepStatus, now time.Time) (Result, error) {
	for _, s := range all {
		if s.Once && Complete(*recorded, s.Name) {
			continue
		}
		if indexOf(*recorded, s.Name) < 0 {
			*recorded = append(*recorded, v1.StepStatus{Name: s.Name, StartTime: metav1.NewTime(now.Truncate(time.Second))})
			if s.Undo != nil || s.NoWayBack {
				return RetryAfter(0, v1.ReasonProgressing, "the step %s begins", s.Name), nil
			}
		}
		result, err := s.Run(ctx)
		if err != nil {
			return Result{}, err
		}
		if result.Stops() {
			log.FromContext(ctx).V(1).Info("Step is not complete", "step", s.Name, "reason", result.Reason, "message", result.Message)
			return result, nil
		}
		if r := &(*recorded)[indexOf(*recorded, s.Name)]; r.EndTime == nil {
			r.EndTime = v1.Seconds(now)
		}
	}
	return Result{}, nil
}

// Unwind takes back the steps that were begun, the last one first, up to the first of which something is left.
func Unwind(ctx context.Context, all []Step, recorded []v1.StepStatus) (Result, error) {
	for _, s := range slices.Backward(all) {
		if s.Undo == nil || !Begun(recorded, s.Name) {
			continue
		}
		if result, err := s.Undo(ctx); result.Stops() || err != nil {
			return result, err
		}
	}
	return Result{}, nil
}

// Begun reports whether a step was begun.
func Begun(recorded []v1.StepStatus, name string) bool { return indexOf(recorded, name) >= 0 }

// Complete reports whether a step was complete once.
func Complete(recorded []v1.StepStatus, name string) bool {
	i := indexOf(recorded, name)
	return i >= 0 && recorded[i].EndTime != nil
}

func indexOf(recorded []v1.StepStatus, name string) int {
	return slices.IndexFunc(recorded, func(s v1.StepStatus) bool { return s.Name == name })
}
