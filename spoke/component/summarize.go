package component

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// RunningMessage is the message of a running application.
const RunningMessage = "Application is running"

// maxMessage is the maximum length of a message, in bytes.
const maxMessage = 1024

// Problem is an error that prevented a write, or the whole plan.
type Problem struct {
	// Component is the affected component; empty for the application as a whole.
	Component string
	// Reason is a CamelCase word, and Message a deterministic sentence fragment.
	Reason, Message string
	// Blocking is true if retrying cannot succeed until a user changes something.
	Blocking bool
}

// Summary is the input of Summarize.
type Summary struct {
	// Generation is the generation of the spec, ObservedGeneration the last one that was
	// reconciled without a problem.
	Generation, ObservedGeneration int64
	// States are in dependency order.
	States []State
	// Problems are in the order of their occurrence.
	Problems []Problem
	// Incomplete is true if a write conflicted and is retried immediately.
	Incomplete bool
	// Deleting is true if the application is being deleted.
	Deleting bool
	// Paused is true if nothing is written. Pending are the changes that are held back.
	Paused  bool
	Pending []v1.PendingChange
	// Previous are the conditions of the last status.
	Previous []metav1.Condition
	// Now is the transition time of conditions that change.
	Now metav1.Time
	// Claims and BoundClaims count volume claims.
	Claims, BoundClaims int
}

// Summarize derives the report from the observed states and problems.
func Summarize(in Summary) Report {
	states := withDeadline(in, withProblems(in.States, in.Problems))
	report := Report{
		ObservedGeneration: in.ObservedGeneration,
		States:             states,
		Claims:             in.Claims,
		BoundClaims:        in.BoundClaims,
		Pending:            in.Pending,
	}
	if len(in.Problems) == 0 && !in.Incomplete {
		report.ObservedGeneration = in.Generation
	}
	enabled, ready := count(states)
	report.Ready = fmt.Sprintf("%d/%d", ready, enabled)
	cause := causeOf(in, states)
	report.Phase, report.Message = cause.phase, cause.text()
	if in.Paused && !in.Deleting {
		report.Phase, report.Message = v1.PhasePaused, pausedMessage(len(in.Pending))
	}
	report.Conditions = conditions(in, cause, fmt.Sprintf("%d of %d components are ready", ready, enabled))
	report.DeadlineIn = deadlineIn(in, cause, report)
	return report
}

// pausedMessage says how many changes a pause holds back.
func pausedMessage(pending int) string {
	switch pending {
	case 0:
		return "writes are paused; no change is pending"
	case 1:
		return "writes are paused; 1 change is pending"
	default:
		return fmt.Sprintf("writes are paused; %d changes are pending", pending)
	}
}

// cause is the phase of an application, and the component that determines it.
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
		c.phase, c.reason, c.message = v1.PhaseDeleting, v1.ReasonDeleting, "deleting the application's objects"
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
		// Nothing could be observed.
		return unobserved(in, c)
	}
	if i < 0 {
		c.phase, c.reason, c.message = v1.PhaseRunning, v1.ReasonRunning, RunningMessage
		c.ready, c.initialized = true, c.initialized || !in.Paused
		return c
	}
	c.from(states[i])
	c.phase = progressPhase(in.Previous, states, c.initialized)
	return c
}

func (c *cause) from(s State) { c.component, c.reason, c.message = s.Name, s.Reason, s.Message }

// unobserved returns the cause if a transient problem prevented the observation.
func unobserved(in Summary, c cause) cause {
	p := in.Problems[0]
	c.phase, c.component, c.reason, c.message = v1.PhaseUpdating, p.Component, p.Reason, p.Message
	if !c.initialized {
		c.phase = v1.PhaseCreating
	}
	return c
}

// progressPhase returns the phase of an application that is neither ready nor failed. It
// is not known why pods that are not ready yet were started, so Scaling persists until
// they are ready, unless something else changes.
func progressPhase(previous []metav1.Condition, states []State, initialized bool) v1.Phase {
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

// withProblems adds problems to the states of their components.
func withProblems(states []State, problems []Problem) []State {
	states = slices.Clone(states)
	for _, p := range problems {
		i := slices.IndexFunc(states, func(s State) bool { return s.Name == p.Component })
		if i < 0 {
			continue
		}
		s := &states[i]
		if p.Reason == v1.ReasonStorageNotExpandable {
			s.tolerateSmallVolumes(p)
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

// tolerateSmallVolumes marks a component as ready if its only problem is that its volumes
// cannot be expanded: it works as before.
func (s *State) tolerateSmallVolumes(p Problem) {
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

// conditions returns the four conditions of a component's application, with their
// transition times, and those of other controllers.
func conditions(in Summary, c cause, progress string) []metav1.Condition {
	ready := metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: c.reason, Message: c.text()}
	progressing := metav1.Condition{Type: v1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: string(c.phase), Message: progress}
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
		p := in.Problems[0]
		degraded.Status, degraded.Reason = metav1.ConditionTrue, p.Reason
		degraded.Message = cause{component: p.Component, message: p.Message}.text()
	}
	initialized := metav1.Condition{Type: v1.ConditionInitialized, Status: metav1.ConditionFalse, Reason: v1.ReasonProgressing, Message: "the application has not been ready yet"}
	if c.initialized {
		initialized.Status, initialized.Reason, initialized.Message = metav1.ConditionTrue, v1.ReasonRunning, "the application has been ready"
	}
	all := make([]metav1.Condition, 0, len(in.Previous)+4)
	all = append(all, ready, progressing, degraded, initialized)
	for i := range all {
		all[i].ObservedGeneration = in.Generation
		all[i].LastTransitionTime = in.Now
		if last := find(in.Previous, all[i].Type); last != nil && last.Status == all[i].Status && !resetsTransition(in, c, all[i]) {
			all[i].LastTransitionTime = last.LastTransitionTime
		}
	}
	// Initialized keeps the generation that was ready, which Plan uses.
	if last := find(in.Previous, v1.ConditionInitialized); (!c.ready || in.Paused) && last != nil {
		all[3].ObservedGeneration = last.ObservedGeneration
	}
	return append(all, foreign(in.Previous, all)...)
}

// foreign returns the conditions that other controllers set.
func foreign(previous, own []metav1.Condition) []metav1.Condition {
	var others []metav1.Condition
	for _, c := range previous {
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

// bounded truncates a message to maxMessage bytes without splitting a character.
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
