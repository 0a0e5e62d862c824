package component

import (
	"fmt"
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// rank orders the reasons why a component is not ready; the lowest is reported.
type rank int

const (
	rankFailed rank = iota
	rankChanging
	rankMissing
	rankRolling
	rankScaling
	rankStorage
	rankReplicas
	rankGrowing
	rankNothing
)

// fact is a reason why a component is not ready.
type fact struct {
	rank            rank
	phase           v1.Phase
	reason, message string
}

// Observe returns the state of a component for its live objects. A component that is not
// ready is Creating until the application is initialized, then Updating or Scaling.
func Observe(c Component, live Live, initialized bool) State {
	if c.Disabled {
		return State{Name: c.Name, Phase: v1.PhaseDisabled, Ready: true, Reason: v1.ReasonDisabled, Message: "disabled"}
	}
	state := State{Name: c.Name, Impaired: c.Impaired, Impairment: c.Impairment, SelfSigned: c.SelfSigned}
	worst := fact{rank: rankNothing, phase: v1.PhaseRunning, reason: v1.ReasonRunning, message: "ready"}
	if c.Unserved != "" {
		worst = fact{rankReplicas, v1.PhaseUpdating, v1.ReasonGatewayAPINotServed, c.Unserved}
	}
	counted, notes := false, []string{}
	pending := cutoverOf(c, live)
	for _, object := range c.Objects {
		if pending.holds(object.Resource) {
			continue
		}
		exists := live[KeyOf(object.Resource)]
		facts, note := observeObject(object, exists, live)
		if exists != nil && state.HeldSince.IsZero() && heldBy(exists) != "" {
			state.HeldSince = exists.GetDeletionTimestamp().Time
		}
		// Of two that are as bad, the first is reported.
		worst = slices.MinFunc(append([]fact{worst}, facts...), func(a, b fact) int { return int(a.rank - b.rank) })
		notes = append(notes, note)
		state.observeAutoscaler(c, exists)
		if w, ok := viewOf(object.Resource, exists); ok && !counted {
			counted = true
			state.countPods(w, len(unboundClaims(object.Resource, live)))
		}
	}
	pending.count(&state)
	if worst.rank == rankNothing && counted {
		worst.message = fmt.Sprintf("%d of %d replicas are ready", state.ReadyReplicas, state.Replicas)
	}
	state.Phase, state.Reason, state.Message = worst.phase, worst.reason, worst.message
	state.Ready, state.Growing = worst.rank == rankNothing, worst.rank == rankGrowing
	state.Timed = !state.Ready && slices.ContainsFunc(c.Objects, func(o Object) bool { return isStatefulSet(o.Resource) })
	state.Unavailable, state.Serving = unavailable(c, pending, live), pending == nil && serving(c, live)
	if pod := copyingPod(c, live); pod != "" && !state.Ready {
		state.copies(pod, worst.rank)
	}
	if !state.Ready && !initialized && state.Phase != v1.PhaseFailed {
		state.Phase = v1.PhaseCreating
	}
	state.addNotes(append([]string{c.Note, c.Impairment}, notes...))
	return state
}

// countPods sets the numbers of pods from a workload. Some of its claims may be unbound.
func (s *State) countPods(w workload, unbound int) {
	s.Replicas, s.ReadyReplicas, s.UpdatedReplicas = w.wanted, min(w.ready, w.wanted), min(w.updated, w.wanted)
	s.Selector, s.Awaited = w.selector, w.selector
	s.Creation = Creation{Pods: w.replicas, Unbound: unbound}
	if w.observed && w.refused {
		s.Creation.Refusal = refusedMessage(w.refusal)
	}
}

// addNotes adds notes to the message of a component that is ready.
func (s *State) addNotes(notes []string) {
	for _, note := range notes {
		if s.Ready && note != "" {
			s.Message += "; " + note
		}
	}
	s.Message = v1.Excerpt(s.Message, maxMessage)
}

// observeObject returns the reasons why one object does not match its desired state, and a note
// about it, which is usually empty.
func observeObject(object Object, exists Resource, live Live) ([]fact, string) {
	want := object.Resource
	name := describe(want)
	if exists == nil {
		return []fact{{rankMissing, v1.PhaseUpdating, v1.ReasonProgressing, name + " is being created"}}, ""
	}
	if exists.GetDeletionTimestamp() != nil {
		return []fact{{rankChanging, v1.PhaseUpdating, v1.ReasonProgressing, name + " is being deleted" + heldBy(exists)}}, ""
	}
	small := claimsToGrow(want, live)
	desired := keepTemplates(want, exists, small)
	if set, live := setsOf(desired, exists); object.KeepsTemplate() && live != nil && Immutable(set, live) != "" {
		desired = keepStored(set, live)
	}
	if w, ok := viewOf(desired, exists); ok {
		facts := observeWorkload(w, unboundClaims(want, live))
		if len(small) > 0 {
			facts = append(facts, fact{rankGrowing, v1.PhaseUpdating, v1.ReasonWaitingForStorage,
				fmt.Sprintf("claim %s is being expanded to %s", small[0].Target.GetName(), small[0].Size.String())})
		}
		return facts, ""
	}
	if !object.Once && outdated(want, exists) {
		return []fact{{rankChanging, v1.PhaseUpdating, v1.ReasonProgressing, name + " is being updated"}}, ""
	}
	return observeEdge(exists)
}

// observeWorkload returns the reasons why an existing workload is not ready.
func observeWorkload(w workload, unbound []string) []fact {
	progress := fmt.Sprintf("%d of %d replicas are ready", min(w.ready, w.wanted), w.wanted)
	updated := fmt.Sprintf("%d of %d replicas are updated", min(w.updated, w.wanted), w.wanted)
	switch {
	case w.changing && !w.scaling:
		return []fact{{rankChanging, v1.PhaseUpdating, v1.ReasonProgressing, w.name + " is being updated"}}
	case w.scaling:
		return []fact{{rankScaling, v1.PhaseScaling, v1.ReasonScaling, fmt.Sprintf("%s is being scaled to %d replicas", w.name, w.wanted)}}
	case w.observed && w.stuck:
		return []fact{{rankFailed, v1.PhaseFailed, v1.ReasonDeadlineExceeded, w.name + " made no progress within its deadline: " + withRefusal(progress, w)}}
	case w.observed && w.updated < w.replicas && w.refused:
		return []fact{{rankRolling, v1.PhaseUpdating, v1.ReasonFailedCreate, withRefusal(updated, w)}}
	case w.observed && w.updated < w.replicas:
		return []fact{{rankRolling, v1.PhaseUpdating, v1.ReasonProgressing, updated}}
	case w.observed && w.replicas > w.wanted:
		return []fact{{rankReplicas, v1.PhaseUpdating, v1.ReasonWaitingForReplicas, fmt.Sprintf("%d of %d replicas are still to be removed", w.replicas-w.wanted, w.replicas)}}
	case w.observed && w.ready >= w.wanted:
		return nil
	case w.refused:
		return []fact{{rankReplicas, v1.PhaseUpdating, v1.ReasonFailedCreate, withRefusal(progress, w)}}
	case len(unbound) > 0:
		return []fact{{rankStorage, v1.PhaseUpdating, v1.ReasonWaitingForStorage, fmt.Sprintf("claim %s is not bound", unbound[0])}}
	default:
		return []fact{{rankReplicas, v1.PhaseUpdating, v1.ReasonWaitingForReplicas, progress}}
	}
}

// describe returns kind and name of an object, for messages.
func describe(r Resource) string {
	return r.GetObjectKind().GroupVersionKind().Kind + " " + r.GetName()
}

// current reports whether an object was last written from this intent, so that others made
// all differences.
func current(want, exists Resource) bool {
	return SpecHash(want) != "" && !outdated(want, exists)
}

// outdated reports whether an object was last written from another intent. It returns
// false if the intent has no hash.
func outdated(want, exists Resource) bool {
	hash := SpecHash(want)
	return hash != "" && hash != SpecHash(exists)
}
