package member

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Reasons of events.
const (
	// EventConnected tells that a member became Ready.
	EventConnected = "Connected"
	// EventDisconnected tells that a member that was Ready is not any more.
	EventDisconnected = "Disconnected"
	// EventNotReady tells why a member cannot become Ready.
	EventNotReady = "NotReady"
	// EventCredentialsRefused tells that a new kubeconfig is not used while the one
	// before it still is.
	EventCredentialsRefused = "CredentialsRefused"
	// EventAgentNotReady tells why a member that is ready does not change over to its
	// agent.
	EventAgentNotReady = "AgentNotReady"
	// EventDetached tells that a member was let go.
	EventDetached = "Detached"
	// EventInvalidName tells that a Secret cannot become a MemberCluster.
	EventInvalidName = "InvalidName"
)

// Actions of events: what the hub was doing.
const (
	actionConnect  = "Connect"
	actionDetach   = "Detach"
	actionRegister = "Register"
)

type transition struct {
	kind, reason, action, note string
}

// transitions are the events that a change of status is worth.
func transitions(before, after *v1.MemberClusterStatus) []transition {
	was, is := condition(before, v1.ConditionReady), condition(after, v1.ConditionReady)
	switch {
	case is.Status == metav1.ConditionTrue && was.Status != metav1.ConditionTrue:
		return []transition{{corev1.EventTypeNormal, EventConnected, actionConnect, is.Message}}
	case is.Status != metav1.ConditionTrue && was.Status == metav1.ConditionTrue:
		return []transition{{corev1.EventTypeWarning, EventDisconnected, actionConnect, is.Message}}
	case is.Status == metav1.ConditionFalse && was.Reason != is.Reason:
		return []transition{{corev1.EventTypeWarning, EventNotReady, actionConnect, is.Message}}
	}
	was, is = condition(before, v1.ConditionCredentialsValid), condition(after, v1.ConditionCredentialsValid)
	if is.Status == metav1.ConditionFalse && was.Reason != is.Reason {
		return []transition{{corev1.EventTypeWarning, EventCredentialsRefused, actionConnect, is.Message}}
	}
	was, is = condition(before, v1.ConditionAgentReady), condition(after, v1.ConditionAgentReady)
	if is.Status == metav1.ConditionFalse && was.Reason != is.Reason {
		return []transition{{corev1.EventTypeWarning, EventAgentNotReady, actionConnect, is.Message}}
	}
	return nil
}

func condition(status *v1.MemberClusterStatus, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{Status: metav1.ConditionUnknown}
}

func detachedEvent() transition {
	return transition{corev1.EventTypeNormal, EventDetached, actionDetach,
		"the cluster was detached; what runs there was left alone"}
}

func invalidName() transition {
	return transition{corev1.EventTypeWarning, EventInvalidName, actionRegister,
		"the Secret's name cannot be that of a MemberCluster: use at most 63 characters"}
}

func (r *Reconciler) record(about client.Object, h transition) {
	r.recorder.Eventf(about, nil, h.kind, h.reason, h.action, "%s", h.note)
}

func (r *Reconciler) recordSecret(key client.ObjectKey, h transition) {
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
	}
	r.record(secret, h)
}
