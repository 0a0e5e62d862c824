package component

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// refusalWindow is how long a Warning event counts: controllers of Kubernetes try again, and record it again,
// after at most 17 minutes.
const refusalWindow = 20 * time.Minute

// Evidence holds what was read to explain why a component is waited for.
type Evidence struct {
	// Pods are the pods of the component that have not ended. Warnings are the Warning events of its
	// namespace that are not about pods.
	Pods     []corev1.Pod
	Warnings []corev1.Event
	// Live are the live objects of the application.
	Live Live
	Now  time.Time
}

// Explain returns why a component is not ready: what its pods say, or what only events do, as that pods
// cannot be created and that a claim gets no volume. Of several reasons it is the one that a pod gets past
// last. It returns false if all reasons end by themselves.
func Explain(c Component, state State, e Evidence) (Problem, bool) {
	var found []Problem
	if state.Creation.Refusal != "" {
		found = append(found, explanation(v1.ReasonFailedCreate, state.Creation.Refusal))
	}
	if p, ok := PodProblem(e.Pods, e.Now); ok {
		found = append(found, p)
	}
	for _, object := range c.Objects {
		if set, ok := object.Resource.(*appsv1.StatefulSet); ok {
			found = append(found, warnings(set, e)...)
		}
	}
	if len(found) == 0 {
		return Problem{}, false
	}
	worst := slices.MinFunc(found, compareProblems)
	worst.Component = state.Name
	return worst, true
}

// OfCreation reports whether a problem is about the creation of pods or volumes.
func OfCreation(p Problem) bool {
	return p.Reason == v1.ReasonFailedCreate || p.Reason == v1.ReasonProvisioningFailed
}

// warnings returns what the events of a StatefulSet and of its claims say. The pods of a StatefulSet are
// created one after the other, so that one that is complete was refused none.
func warnings(set *appsv1.StatefulSet, e Evidence) []Problem {
	var found []Problem
	if live := e.Live[KeyOf(set)]; live != nil && alive(e.Pods) < int(valueOr(set.Spec.Replicas, 1)) {
		if last := lastWarning(e, live, "StatefulSet"); last != nil && last.Reason == "FailedCreate" {
			found = append(found, explanation(v1.ReasonFailedCreate, refusedMessage(apierror.Refusal(last.Message))))
		}
	}
	for _, name := range unboundClaims(set, e.Live) {
		if p, ok := claimWarning(e, set, name, "claim %s gets no volume: %s"); ok {
			return append(found, p)
		}
	}
	for _, step := range claimsToGrow(set, e.Live) {
		if p, ok := claimWarning(e, set, step.Target.GetName(), "claim %s does not grow: %s"); ok {
			return append(found, p)
		}
	}
	return found
}

func claimWarning(e Evidence, set *appsv1.StatefulSet, name, format string) (Problem, bool) {
	key := Key{GroupKind: Claims(set)[0].GroupKind, Namespace: set.Namespace, Name: name}
	last := lastWarning(e, e.Live[key], "PersistentVolumeClaim")
	if last == nil {
		return Problem{}, false
	}
	return explanation(v1.ReasonProvisioningFailed, fmt.Sprintf(format, name, apierror.Refusal(last.Message))), true
}

// lastWarning returns the last recent event about an object; nil if there is none.
func lastWarning(e Evidence, about Resource, kind string) *corev1.Event {
	var last *corev1.Event
	for i := range e.Warnings {
		event := &e.Warnings[i]
		if to := event.InvolvedObject; to.Kind != kind || to.Name != about.GetName() || to.UID != about.GetUID() ||
			event.Type != corev1.EventTypeWarning || e.Now.Sub(seen(event)) > refusalWindow {
			continue
		}
		if last == nil || cmp.Or(seen(event).Compare(seen(last)), cmp.Compare(last.Message, event.Message)) > 0 {
			last = event
		}
	}
	return last
}

// seen returns when an event was last recorded.
func seen(e *corev1.Event) time.Time {
	at := e.EventTime.Time
	if e.Series != nil {
		at = e.Series.LastObservedTime.Time
	}
	if e.LastTimestamp.After(at) {
		at = e.LastTimestamp.Time
	}
	return at
}

func alive(pods []corev1.Pod) int {
	n := 0
	for i := range pods {
		if pods[i].DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

// refusedMessage completes why the cluster rejects pods.
func refusedMessage(refusal string) string {
	if refusal == "" {
		return "the cluster rejects the creation of pods"
	}
	return "the cluster rejects the creation of pods: " + refusal
}

func withRefusal(progress string, w workload) string {
	if !w.refused {
		return progress
	}
	return progress + "; " + refusedMessage(w.refusal)
}
