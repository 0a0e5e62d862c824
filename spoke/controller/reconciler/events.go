package reconciler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// Reasons of events that are not reasons of conditions or changes.
const (
	eventCreated    = "Created"
	eventUpdated    = "Updated"
	eventSyncFailed = "SyncFailed"

	actionReconcile = "Reconcile"
)

// recordChanges records events for the components that were created or updated, and for
// the kind of change.
func (r *reconciler[T]) recordChanges(p *pass[T]) {
	for _, c := range p.components {
		outcome := p.outcomes[c.Name]
		if outcome != apply.Created && outcome != apply.Updated || len(c.Objects) == 0 {
			continue
		}
		change := component.Classify(c, p.live, p.written)
		// Events with the same object, reason and related object are aggregated; the
		// related object keeps the events of different components apart.
		related := mainObject(c)
		switch change {
		case component.New:
			r.event(p.object, related, corev1.EventTypeNormal, eventCreated, "Created the "+c.Name)
		case component.Unchanged:
			r.event(p.object, related, corev1.EventTypeNormal, eventUpdated, "Repaired the "+c.Name)
		default:
			r.event(p.object, related, corev1.EventTypeNormal, eventUpdated, "Updated the "+c.Name)
			r.event(p.object, related, corev1.EventTypeNormal, string(change), fmt.Sprintf("%s of the %s", describeChange(change), c.Name))
		}
	}
}

func describeChange(change component.Change) string {
	switch change {
	case component.ImageUpdated:
		return "Rolling out the images"
	case component.Scaled:
		return "Changing the number of replicas"
	case component.Switched:
		return "Sending requests to the new pods"
	default:
		return "Rolling out the configuration"
	}
}

// mainObject returns the related object of a component's events.
func mainObject(c component.Component) runtime.Object {
	for _, object := range c.Objects {
		if component.IsWorkload(object.Resource) {
			return object.Resource
		}
	}
	return c.Objects[0].Resource
}

// recordWarning records a warning if the condition Degraded has a new problem.
func (r *reconciler[T]) recordWarning(before, after T) {
	was := meta.FindStatusCondition(*r.kind.Status(before).Conditions, v1.ConditionDegraded)
	is := meta.FindStatusCondition(*r.kind.Status(after).Conditions, v1.ConditionDegraded)
	if is == nil || is.Status != metav1.ConditionTrue {
		return
	}
	if was != nil && was.Status == is.Status && was.Reason == is.Reason && was.Message == is.Message {
		return
	}
	reason := eventSyncFailed
	switch is.Reason {
	case v1.ReasonInvalidSpec, v1.ReasonConflict, v1.ReasonForbidden, v1.ReasonFieldManagerConflict, v1.ReasonLoginNotConfigured,
		v1.ReasonReplicaDiverged, v1.ReasonMissing, v1.ReasonImagePullBackOff, v1.ReasonCreateContainerConfigError,
		v1.ReasonCrashLoopBackOff, v1.ReasonUnschedulable, v1.ReasonFailedCreate, v1.ReasonProvisioningFailed, v1.ReasonClaimBeingDeleted:
		reason = is.Reason
	}
	r.event(after, nil, corev1.EventTypeWarning, reason, is.Message)
}

func (r *reconciler[T]) event(object T, related runtime.Object, kind, reason, note string) {
	r.member.Recorder.Eventf(object, related, kind, reason, actionReconcile, "%s", note)
}
