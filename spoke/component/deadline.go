package component

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// ProgressDeadline is the time in which a component that is not ready must make progress, or
// it fails. Kubernetes enforces it for Deployments; for StatefulSets it counts from the
// transition of the condition Progressing, which progress resets.
const ProgressDeadline = 10 * time.Minute

// withDeadline marks the component that the application has been waiting for too long as
// failed. It stays failed until it makes progress or the spec changes.
func withDeadline(in SummaryInput, states []State) []State {
	i := slices.IndexFunc(states, func(s State) bool { return !s.Ready })
	if i < 0 || in.Deleting || in.Paused || !states[i].Timed || states[i].Phase == v1.PhaseFailed || states[i].Copying || progressed(in, states[i]) {
		return states
	}
	s := &states[i]
	last := find(in.Previous, v1.ConditionProgressing)
	if last == nil || last.ObservedGeneration != in.Generation || !waitedFor(in.Previous, s.Name) {
		return states
	}
	spent := last.Status == metav1.ConditionTrue && in.Now.Sub(last.LastTransitionTime.Time) >= ProgressDeadline && !copied(in, *s)
	failedBefore := last.Status == metav1.ConditionFalse && last.Reason == v1.ReasonDeadlineExceeded
	if spent || failedBefore {
		s.Phase, s.Reason = v1.PhaseFailed, v1.ReasonDeadlineExceeded
		s.Message = v1.Excerpt(fmt.Sprintf("no progress within %d minutes: %s", int(ProgressDeadline.Minutes()), s.Message), maxMessage)
	}
	return states
}

// progressed reports whether more pods of a component are ready or updated than in the last
// status.
func progressed(in SummaryInput, now State) bool {
	i := slices.IndexFunc(in.Last, func(last State) bool { return last.Name == now.Name })
	return i >= 0 && (now.ReadyReplicas > in.Last[i].ReadyReplicas || now.UpdatedReplicas > in.Last[i].UpdatedReplicas)
}

// copied reports whether a pod of a component copied data when the last status was written, and
// none does any more. That took as long as it took: what follows has its own deadline.
func copied(in SummaryInput, now State) bool {
	ready := find(in.Previous, v1.ConditionReady)
	return ready != nil && ready.Reason == v1.ReasonCopyingData && waitedFor(in.Previous, now.Name) && !now.Copying
}

// deadlineIn returns the time until a component fails that is waited for, until what finalizers hold waits for a
// user, or until an autoscaler that does not work is reported; 0 if no deadline applies.
func deadlineIn(in SummaryInput, c cause, summary Summary) time.Duration {
	var waits []time.Duration
	for _, s := range summary.States {
		if !s.HeldSince.IsZero() && !isHeld(s, in.Now.Time) {
			waits = append(waits, heldAfter-in.Now.Sub(s.HeldSince))
		}
		if s.Unscaled != "" && s.Impaired == "" {
			waits = append(waits, unscaledIn(s, in.Now.Time))
		}
	}
	if !c.ready && c.phase != v1.PhaseFailed && !in.Deleting && !in.Paused &&
		slices.ContainsFunc(summary.States, func(s State) bool { return s.Name == c.component && s.Timed && !s.Copying }) {
		since := find(summary.Conditions, v1.ConditionProgressing).LastTransitionTime
		waits = append(waits, ProgressDeadline-in.Now.Sub(since.Time))
	}
	if len(waits) == 0 {
		return 0
	}
	return max(slices.Min(waits), time.Second)
}

// resetsTransition reports whether the transition time of an unchanged condition must be
// reset: progress towards another generation, or of another component, has its own
// deadline, and each progress of a component begins it again.
func resetsTransition(in SummaryInput, c cause, now metav1.Condition) bool {
	if now.Type != v1.ConditionProgressing || now.Status != metav1.ConditionTrue {
		return false
	}
	last := find(in.Previous, v1.ConditionProgressing)
	return last.ObservedGeneration != in.Generation || c.component != "" && !waitedFor(in.Previous, c.component) || c.progressed
}

// waitedFor reports whether the named component kept the application from being ready.
func waitedFor(previous []metav1.Condition, name string) bool {
	ready := find(previous, v1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionFalse && strings.HasPrefix(ready.Message, name+": ")
}
