package component

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// ProgressDeadline is how long a component may take to become ready before it is
// failed. That of a Deployment is watched by the cluster, that of a StatefulSet
// by us: it runs from the transition of the condition Progressing.
const ProgressDeadline = 10 * time.Minute

// withDeadline fails the component that the application has been waiting for too
// long. It stays failed until it is ready or the spec changes.
func withDeadline(in Summary, states []State) []State {
	i := slices.IndexFunc(states, func(s State) bool { return !s.Ready })
	if i < 0 || in.Deleting || !states[i].Timed || states[i].Phase == v1.PhaseFailed {
		return states
	}
	s := &states[i]
	last := find(in.Previous, v1.ConditionProgressing)
	if last == nil || last.ObservedGeneration != in.Generation || !waitedFor(in.Previous, s.Name) {
		return states
	}
	spent := last.Status == metav1.ConditionTrue && in.Now.Sub(last.LastTransitionTime.Time) >= ProgressDeadline
	gaveUp := last.Status == metav1.ConditionFalse && last.Reason == v1.ReasonDeadlineExceeded
	if spent || gaveUp {
		s.Phase, s.Reason = v1.PhaseFailed, v1.ReasonDeadlineExceeded
		s.Message = bounded(fmt.Sprintf("not ready within %d minutes: %s", int(ProgressDeadline.Minutes()), s.Message))
	}
	return states
}

// deadlineIn returns in how long the component that is waited for will be failed;
// 0 when it will not be by us.
func deadlineIn(in Summary, c cause, report Report) time.Duration {
	if c.ready || c.phase == v1.PhaseFailed || in.Deleting ||
		!slices.ContainsFunc(report.States, func(s State) bool { return s.Name == c.component && s.Timed }) {
		return 0
	}
	since := find(report.Conditions, v1.ConditionProgressing).LastTransitionTime
	return max(ProgressDeadline-in.Now.Sub(since.Time), time.Second)
}

// restarted tells whether a condition that is as it was is nevertheless about
// something new: progress towards another spec, or of another component. Each
// has a deadline of its own.
func restarted(in Summary, c cause, now metav1.Condition) bool {
	if now.Type != v1.ConditionProgressing || now.Status != metav1.ConditionTrue {
		return false
	}
	last := find(in.Previous, v1.ConditionProgressing)
	return last.ObservedGeneration != in.Generation || c.component != "" && !waitedFor(in.Previous, c.component)
}

// waitedFor tells whether it was a component that kept the application from being
// ready. Without one in its message, the condition Ready is about no component.
func waitedFor(previous []metav1.Condition, name string) bool {
	ready := find(previous, v1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionFalse && strings.HasPrefix(ready.Message, name+": ")
}
