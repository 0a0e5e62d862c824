package component

import (
	"fmt"
	"slices"
	"strings"

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
	// Harmless is true if a component that is ready works all the same.
	Harmless bool
	// Lasting is true if it may pass by itself, and blocks if it does not within a few minutes.
	Lasting bool
	// Optional is true if the spec is in effect without the write.
	Optional bool
	// Explains is true if pods that are not ready may wait for the cause of the problem.
	Explains bool
}

// Text returns the message with the component, as conditions have it.
func (p Problem) Text() string { return cause{component: p.Component, message: p.Message}.text() }

// SummaryInput is the input of Summarize.
type SummaryInput struct {
	// Generation is the generation of the spec, ObservedGeneration the last one that was
	// reconciled, or that a user has to do something about.
	Generation, ObservedGeneration int64
	// States are in dependency order.
	States []State
	// Problems are in the order of their occurrence.
	Problems []Problem
	// Lost says what to do about data of the database that is lost; usually empty.
	Lost string
	// Unsupported says which fields of the spec have no effect, and why; empty if all have one.
	Unsupported string
	// Incomplete is true if a write conflicted and is retried immediately.
	Incomplete bool
	// Deleting is true if the application is being deleted.
	Deleting bool
	// Paused is true if nothing is written. Pending are the changes that are held back.
	Paused  bool
	Pending []v1.PendingChange
	// Previous are the conditions of the last status. Last are its components with name,
	// ReadyReplicas and UpdatedReplicas only; nil for kinds without StatefulSets.
	Previous []metav1.Condition
	Last     []State
	// Rewrites are the objects that the API server stored otherwise than they were applied.
	// RewritesUnknown is true while it is not known of all objects.
	Rewrites        []Rewrite
	RewritesUnknown bool
	// Now is the transition time of conditions that change.
	Now metav1.Time
	// Claims and BoundClaims count volume claims.
	Claims, BoundClaims int
}

// Summarize derives the summary from the observed states and problems.
func Summarize(in SummaryInput) Summary {
	states := withDeadline(in, withProblems(in.States, in.Problems))
	withAutoscalers(states, in.Now.Time)
	summary := Summary{
		ObservedGeneration: in.ObservedGeneration,
		States:             states,
		Claims:             in.Claims,
		BoundClaims:        in.BoundClaims,
		Pending:            in.Pending,
	}
	hindered := slices.ContainsFunc(in.Problems, func(p Problem) bool { return !p.Optional })
	if !in.Incomplete && (!hindered || blocking(in.Problems) != nil) {
		summary.ObservedGeneration = in.Generation
	}
	enabled, ready := count(states)
	summary.Ready = fmt.Sprintf("%d/%d", ready, enabled)
	cause := causeOf(in, states)
	summary.Phase, summary.Message = cause.phase, cause.text()
	if in.Paused && !in.Deleting {
		summary.Phase, summary.Message = v1.PhasePaused, pausedMessage(len(in.Pending))
	}
	summary.Conditions = conditions(in, cause, summary)
	summary.DeadlineIn = deadlineIn(in, cause, summary)
	return summary
}

// pausedMessage returns the message with the number of changes that wait for the end of a pause.
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
	// progressed is true if the component has made progress since the last status.
	progressed bool
}

func (c cause) text() string {
	if c.component == "" {
		return v1.Excerpt(c.message, maxMessage)
	}
	prefix := c.component + ": "
	return prefix + v1.Excerpt(c.message, maxMessage-len(prefix))
}

func causeOf(in SummaryInput, states []State) cause {
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
	c.progressed = states[i].Timed && (progressed(in, states[i]) || copied(in, states[i]))
	c.phase = progressPhase(in.Previous, states, c.initialized)
	return c
}

func (c *cause) from(s State) { c.component, c.reason, c.message = s.Name, s.Reason, s.Message }

// unobserved returns the cause if a transient problem prevented the observation.
func unobserved(in SummaryInput, c cause) cause {
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
		case s.Ready, s.Reason == v1.ReasonWaitingForReplicas, s.Reason == v1.ReasonWaitingForStorage, s.Reason == v1.ReasonCopyingData,
			explains(s.Reason):
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
		if i >= 0 && p.Explains {
			states[i].explain(p)
			continue
		}
		if i < 0 || p.Optional {
			continue
		}
		s := &states[i]
		if p.Reason == v1.ReasonStorageNotExpandable {
			s.tolerateSmallVolumes(p)
			continue
		}
		if p.Blocking && !p.Harmless && s.Phase != v1.PhaseDeleting {
			s.Phase, s.Ready = v1.PhaseFailed, false
		}
		if p.Reason == v1.ReasonDatabaseLost {
			s.Unavailable = "the data of the database is lost"
		}
		if !s.Ready {
			s.Reason, s.Message = p.Reason, v1.Excerpt(p.Message, maxMessage)
		}
	}
	return states
}

// explain adds to a component why its pods may not be ready. Whether the component is ready is observed:
// pods that have an image need no Secret to pull it.
func (s *State) explain(p Problem) {
	switch {
	case s.Reason == v1.ReasonWaitingForStorage && OfCreation(p):
		// A claim waits for its first pod, and a message about it has its name.
		s.Reason, s.Message = p.Reason, v1.Excerpt(p.Message, maxMessage)
		return
	case s.Reason == v1.ReasonWaitingForReplicas, s.Reason == v1.ReasonWaitingForStorage && p.Reason != v1.ReasonMissing:
		s.Reason = p.Reason
	}
	if !strings.Contains(s.Message, p.Message) {
		s.Message = v1.Excerpt(s.Message+"; "+p.Message, maxMessage)
	}
}

// tolerateSmallVolumes marks a component as ready if its only problem is that its volumes
// cannot be expanded: it works as before.
func (s *State) tolerateSmallVolumes(p Problem) {
	if s.Growing && !s.Ready {
		s.Ready, s.Phase, s.Reason, s.Message = true, v1.PhaseRunning, p.Reason, v1.Excerpt(p.Message, maxMessage)
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
