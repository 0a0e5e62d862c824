package component

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// RunningMessage is the message of an application that is as wanted.
const RunningMessage = "Application is running"

// maxMessage bounds a message, in bytes.
const maxMessage = 1024

// Problem is something that kept a write, or the whole plan, from being done.
type Problem struct {
	// Component is where it happened; empty when it concerns the application.
	Component string
	// Reason is a CamelCase word, and Message a sentence that is the same for
	// the same problem.
	Reason, Message string
	// Blocking tells that it will not go away by being tried again: someone has
	// to change something.
	Blocking bool
}

// Summary is what a report is made from.
type Summary struct {
	// Generation is the generation of the spec, ObservedGeneration the last one
	// that was acted on without a problem.
	Generation, ObservedGeneration int64
	// States are in dependency order.
	States []State
	// Problems are in the order in which they came up.
	Problems []Problem
	// Incomplete tells that a write met a newer object and is tried again at
	// once: no problem, but not yet done.
	Incomplete bool
	// Deleting tells that the application is on its way out.
	Deleting bool
	// Previous are the conditions of the last status.
	Previous []metav1.Condition
	// Now is the time of conditions that change.
	Now metav1.Time
	// Claims and BoundClaims count volume claims.
	Claims, BoundClaims int
}

// Summarize derives phase, message and conditions from what is observed.
func Summarize(in Summary) Report {
	states := withDeadline(in, withProblems(in.States, in.Problems))
	report := Report{
		ObservedGeneration: in.ObservedGeneration,
		States:             states,
		Claims:             in.Claims,
		BoundClaims:        in.BoundClaims,
	}
	if len(in.Problems) == 0 && !in.Incomplete {
		report.ObservedGeneration = in.Generation
	}
	enabled, ready := count(states)
	report.Ready = fmt.Sprintf("%d/%d", ready, enabled)
	cause := causeOf(in, states)
	report.Phase, report.Message = cause.phase, cause.text()
	report.Conditions = conditions(in, cause, fmt.Sprintf("%d of %d components are ready", ready, enabled))
	report.DeadlineIn = deadlineIn(in, cause, report)
	return report
}

// cause is the phase of an application, and the component that it is due to.
type cause struct {
	phase              v1.Phase
	component          string
	reason, message    string
	ready, initialized bool
}

func (c cause) text() string {
	if c.component == "" {
		return bounded(c.message)
	}
	return bounded(c.component + ": " + c.message)
}

func causeOf(in Summary, states []State) cause {
	latch := find(in.Previous, v1.ConditionInitialized)
	c := cause{initialized: latch != nil && latch.Status == metav1.ConditionTrue}
	if in.Deleting {
		c.phase, c.reason, c.message = v1.PhaseDeleting, v1.ReasonDeleting, "cleaning up"
		if len(states) > 0 {
			c.from(states[0])
			c.reason = v1.ReasonDeleting
		}
		return c
	}
	for _, p := range in.Problems {
		if p.Blocking && p.Component == "" {
			c.phase, c.reason, c.message = v1.PhaseFailed, p.Reason, p.Message
			return c
		}
	}
	if i := slices.IndexFunc(states, func(s State) bool { return s.Phase == v1.PhaseFailed }); i >= 0 {
		c.phase = v1.PhaseFailed
		c.from(states[i])
		return c
	}
	i := slices.IndexFunc(states, func(s State) bool { return !s.Ready })
	if i < 0 && len(in.Problems) > 0 && len(states) == 0 {
		// Nothing could be observed: what was true before is the best that is known.
		return unobserved(in, c)
	}
	if i < 0 {
		c.phase, c.reason, c.message = v1.PhaseRunning, v1.ReasonRunning, RunningMessage
		c.ready, c.initialized = true, true
		return c
	}
	c.from(states[i])
	c.phase = moving(in.Previous, states, c.initialized)
	return c
}

func (c *cause) from(s State) { c.component, c.reason, c.message = s.Name, s.Reason, s.Message }

// unobserved is the cause when a passing problem came before any observation.
func unobserved(in Summary, c cause) cause {
	p := in.Problems[0]
	c.phase, c.component, c.reason, c.message = v1.PhaseUpdating, p.Component, p.Reason, p.Message
	if !c.initialized {
		c.phase = v1.PhaseCreating
	}
	return c
}

// moving is the phase of an application that is neither ready nor failed. Pods
// that are not ready yet do not tell why they were started, so scaling goes on
// until they are, unless something else changes.
func moving(previous []metav1.Condition, states []State, initialized bool) v1.Phase {
	if !initialized {
		return v1.PhaseCreating
	}
	last := find(previous, v1.ConditionProgressing)
	scaling := last != nil && last.Status == metav1.ConditionTrue && last.Reason == v1.ReasonScaling
	for _, s := range states {
		switch {
		case s.Ready, s.Reason == v1.ReasonWaitingForReplicas, s.Reason == v1.ReasonWaitingForStorage:
		case s.Phase == v1.PhaseScaling:
			scaling = true
		default:
			return v1.PhaseUpdating
		}
	}
	if scaling {
		return v1.PhaseScaling
	}
	return v1.PhaseUpdating
}

// withProblems puts problems into the states of their components.
func withProblems(states []State, problems []Problem) []State {
	states = slices.Clone(states)
	for _, p := range problems {
		i := slices.IndexFunc(states, func(s State) bool { return s.Name == p.Component })
		if i < 0 {
			continue
		}
		s := &states[i]
		if p.Reason == v1.ReasonStorageNotExpandable {
			s.tooSmall(p)
			continue
		}
		if p.Blocking && s.Phase != v1.PhaseDeleting {
			s.Phase, s.Ready = v1.PhaseFailed, false
		}
		if !s.Ready {
			s.Reason, s.Message = p.Reason, bounded(p.Message)
		}
	}
	return states
}

// tooSmall makes a component ready whose volumes are too small and cannot grow, if
// nothing else keeps it from being so: it works as it did before.
func (s *State) tooSmall(p Problem) {
	if s.Growing && !s.Ready {
		s.Ready, s.Phase, s.Reason, s.Message = true, v1.PhaseRunning, p.Reason, bounded(p.Message)
	}
}

func count(states []State) (enabled, ready int) {
	for _, s := range states {
		if s.Phase == v1.PhaseDisabled {
			continue
		}
		enabled++
		if s.Ready {
			ready++
		}
	}
	return enabled, ready
}

// conditions returns the four conditions, each with the time of its last change.
func conditions(in Summary, c cause, progress string) []metav1.Condition {
	ready := metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: c.reason, Message: c.text()}
	progressing := metav1.Condition{Type: v1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: string(c.phase), Message: progress}
	degraded := metav1.Condition{Type: v1.ConditionDegraded, Status: metav1.ConditionFalse, Reason: v1.ReasonReconciled}
	if c.ready {
		ready.Status = metav1.ConditionTrue
	}
	switch {
	case c.ready:
		progressing.Status = metav1.ConditionFalse
	case c.phase == v1.PhaseFailed:
		progressing.Status, progressing.Reason = metav1.ConditionFalse, c.reason
		degraded.Status, degraded.Reason, degraded.Message = metav1.ConditionTrue, c.reason, c.text()
	}
	if degraded.Status == metav1.ConditionFalse && len(in.Problems) > 0 {
		p := in.Problems[0]
		degraded.Status, degraded.Reason = metav1.ConditionTrue, p.Reason
		degraded.Message = cause{component: p.Component, message: p.Message}.text()
	}
	initialized := metav1.Condition{Type: v1.ConditionInitialized, Status: metav1.ConditionFalse, Reason: v1.ReasonProgressing, Message: "never ready yet"}
	if c.initialized {
		initialized.Status, initialized.Reason, initialized.Message = metav1.ConditionTrue, v1.ReasonRunning, "was ready"
	}
	all := make([]metav1.Condition, 0, len(in.Previous)+4)
	all = append(all, ready, progressing, degraded, initialized)
	for i := range all {
		all[i].ObservedGeneration = in.Generation
		all[i].LastTransitionTime = in.Now
		if last := find(in.Previous, all[i].Type); last != nil && last.Status == all[i].Status && !restarted(in, c, all[i]) {
			all[i].LastTransitionTime = last.LastTransitionTime
		}
	}
	// The latch keeps the generation that was ready, as a plan asks for it.
	if last := find(in.Previous, v1.ConditionInitialized); !c.ready && last != nil {
		all[3].ObservedGeneration = last.ObservedGeneration
	}
	return append(all, foreign(in.Previous, all)...)
}

// foreign returns the conditions of types that are not ours.
func foreign(previous, ours []metav1.Condition) []metav1.Condition {
	var others []metav1.Condition
	for _, c := range previous {
		if find(ours, c.Type) == nil {
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

// bounded cuts a message at its bound, between characters.
func bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	cut := maxMessage - len("...")
	for cut > 0 && message[cut]&0xC0 == 0x80 {
		cut--
	}
	return message[:cut] + "..."
}
