package component

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// conditions returns the conditions of a component's application, with their transition
// times, and the conditions that other controllers set.
func conditions(in SummaryInput, c cause, summary Summary) []metav1.Condition {
	initialized := metav1.Condition{Type: v1.ConditionInitialized, Status: metav1.ConditionFalse, Reason: v1.ReasonProgressing, Message: "the application has not been ready yet"}
	if c.initialized {
		initialized.Status, initialized.Reason, initialized.Message = metav1.ConditionTrue, v1.ReasonRunning, "the application has been ready"
	}
	own := append(progress(in, c, summary), initialized, available(in, summary.States), stalled(in, c, summary.States))
	if in.Unsupported != "" {
		own = append(own, metav1.Condition{Type: v1.ConditionSupported, Status: metav1.ConditionFalse, Reason: v1.ReasonNotSupported, Message: v1.Excerpt(in.Unsupported, maxMessage)})
	}
	if in.Lost != "" {
		own = append(own, metav1.Condition{Type: v1.ConditionDatabaseLost, Status: metav1.ConditionTrue,
			Reason: v1.ReasonDatabaseLost, Message: v1.Excerpt(in.Lost, maxMessage)})
	}
	own = append(own, storedAsApplied(in)...)
	for _, s := range summary.States {
		if s.SelfSigned != "" {
			own = append(own, metav1.Condition{Type: v1.ConditionCertificateTrusted, Status: metav1.ConditionFalse,
				Reason: v1.ReasonSelfSignedCertificate, Message: v1.Excerpt(s.SelfSigned, maxMessage)})
			break
		}
	}
	pointToDegraded(own)
	all := make([]metav1.Condition, 0, len(in.Previous)+len(own))
	for _, condition := range own {
		condition.ObservedGeneration = in.Generation
		condition.LastTransitionTime = in.Now
		last := find(in.Previous, condition.Type)
		if last != nil && last.Status == condition.Status && !resetsTransition(in, c, condition) {
			condition.LastTransitionTime = last.LastTransitionTime
		}
		// Initialized keeps the generation that was ready, which Decide uses.
		if condition.Type == v1.ConditionInitialized && (!c.ready || in.Paused) && last != nil {
			condition.ObservedGeneration = last.ObservedGeneration
		}
		all = append(all, condition)
	}
	return append(all, foreign(in.Previous, all)...)
}

// storedAsApplied returns the condition StoredAsApplied, which an application has only while it is False. It
// stays while nothing is written, or not known yet.
func storedAsApplied(in SummaryInput) []metav1.Condition {
	condition := metav1.Condition{Type: v1.ConditionStoredAsApplied, Status: metav1.ConditionFalse, Reason: v1.ReasonChangedByAdmission}
	last := find(in.Previous, condition.Type)
	switch {
	case in.Deleting:
		return nil
	case len(in.Rewrites) > 0:
		condition.Message = rewritesMessage(in.Rewrites)
	case last != nil && (in.Paused || in.RewritesUnknown):
		condition.Message = last.Message
	default:
		return nil
	}
	return []metav1.Condition{condition}
}

// pointToDegraded keeps Stalled from saying that nothing waits for a user while Degraded says what is wrong.
func pointToDegraded(own []metav1.Condition) {
	stalled, degraded := find(own, v1.ConditionStalled), find(own, v1.ConditionDegraded)
	if stalled.Status == metav1.ConditionFalse && degraded.Status == metav1.ConditionTrue {
		stalled.Message = "no change waits for a user, and the condition Degraded says what is wrong"
	}
}

// progress returns the conditions Ready, Progressing and Degraded.
func progress(in SummaryInput, c cause, summary Summary) []metav1.Condition {
	ready := metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: c.reason, Message: c.text()}
	enabled, n := count(summary.States)
	progressing := metav1.Condition{
		Type: v1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: progressReason(c.phase),
		Message: fmt.Sprintf("%d of %d components are ready", n, enabled),
	}
	degraded := metav1.Condition{Type: v1.ConditionDegraded, Status: metav1.ConditionFalse, Reason: v1.ReasonReconciled}
	if c.ready {
		ready.Status = metav1.ConditionTrue
	}
	switch {
	case in.Paused && !in.Deleting:
		progressing.Status, progressing.Reason, progressing.Message = metav1.ConditionFalse, v1.ReasonPaused, pausedMessage(len(in.Pending))
	case c.ready:
		progressing.Status = metav1.ConditionFalse
	case c.phase == v1.PhaseFailed:
		progressing.Status, progressing.Reason = metav1.ConditionFalse, c.reason
		degraded.Status, degraded.Reason, degraded.Message = metav1.ConditionTrue, c.reason, c.text()
	}
	if degraded.Status == metav1.ConditionFalse && len(in.Problems) > 0 {
		degraded.Status, degraded.Reason, degraded.Message = metav1.ConditionTrue, in.Problems[0].Reason, in.Problems[0].Text()
	}
	if degraded.Status == metav1.ConditionFalse {
		degraded = impaired(degraded, summary.States)
	}
	return []metav1.Condition{ready, progressing, degraded}
}

// progressReason returns the reason of Progressing in a phase.
func progressReason(phase v1.Phase) string {
	switch phase {
	case v1.PhaseCreating:
		return v1.ReasonCreating
	case v1.PhaseUpdating:
		return v1.ReasonUpdating
	case v1.PhaseScaling:
		return v1.ReasonScaling
	case v1.PhaseDeleting:
		return v1.ReasonDeleting
	default: // Failed has the reason of the failure.
		return v1.ReasonRunning
	}
}

// impaired returns a condition Degraded that is False, or True for the first component that is
// ready and that users cannot use.
func impaired(degraded metav1.Condition, states []State) metav1.Condition {
	for _, s := range states {
		if s.Impaired != "" {
			degraded.Status, degraded.Reason = metav1.ConditionTrue, s.Impaired
			degraded.Message = cause{component: s.Name, message: s.Impairment}.text()
			return degraded
		}
	}
	return degraded
}

// available returns the condition Available, which names the first component that does not serve
// customers. It is Unknown if the components could not be observed.
func available(in SummaryInput, states []State) metav1.Condition {
	c := metav1.Condition{Type: v1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: v1.ReasonAvailable, Message: "customers can be served"}
	if in.Deleting {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1.ReasonDeleting, "the application is being deleted"
		return c
	}
	if len(states) == 0 && len(in.Problems) > 0 {
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, in.Problems[0].Reason, in.Problems[0].Text()
	}
	for _, s := range states {
		if s.Unavailable != "" {
			c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1.ReasonUnavailable, v1.Excerpt(s.Name+": "+s.Unavailable, maxMessage)
			break
		}
	}
	return c
}

// stalled returns the condition Stalled: the application has failed, or a part of its spec or its
// deletion is blocked, until a user does something. A namespace that is being deleted ends by itself.
func stalled(in SummaryInput, c cause, states []State) metav1.Condition {
	condition := metav1.Condition{Type: v1.ConditionStalled, Status: metav1.ConditionFalse, Reason: v1.ReasonProgressing, Message: "nothing waits for a user"}
	if c.ready {
		condition.Reason = v1.ReasonReconciled
	}
	switch p := blocking(in.Problems); {
	case c.phase == v1.PhaseFailed && c.reason != v1.ReasonNamespaceTerminating:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, c.reason, c.text()
	case p != nil:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, p.Reason, p.Text()
	default:
		if i := slices.IndexFunc(states, func(s State) bool { return isHeld(s, in.Now.Time) }); i >= 0 {
			condition.Status, condition.Reason = metav1.ConditionTrue, v1.ReasonSomeFinalizersRemain
			condition.Message = cause{component: states[i].Name, message: states[i].Message}.text()
		}
	}
	return condition
}

// isHeld reports whether an object of a component has been held by finalizers of others for minutes.
func isHeld(s State, now time.Time) bool {
	return !s.HeldSince.IsZero() && now.Sub(s.HeldSince) >= heldAfter
}

// blocking returns the first problem that a user must resolve; nil if there is none.
func blocking(problems []Problem) *Problem {
	for i, p := range problems {
		if p.Blocking && p.Reason != v1.ReasonNamespaceTerminating {
			return &problems[i]
		}
	}
	return nil
}

// foreign returns the conditions that other controllers set. Those that an application need not have
// are not among them.
func foreign(previous, own []metav1.Condition) []metav1.Condition {
	var others []metav1.Condition
	for _, c := range previous {
		switch c.Type {
		case v1.ConditionSupported, v1.ConditionCertificateTrusted, v1.ConditionStoredAsApplied, v1.ConditionDatabaseLost:
			continue
		}
		if find(own, c.Type) == nil {
			others = append(others, c)
		}
	}
	return others
}

func find(conditions []metav1.Condition, kind string) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}
