package controller

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// Reasons of events.
const (
	// EventConnected means that a member became Ready.
	EventConnected = "Connected"
	// EventDisconnected means that a member is no longer Ready.
	EventDisconnected = "Disconnected"
	// EventNotReady reports why a member cannot become Ready.
	EventNotReady = "NotReady"
	// EventCredentialsRefused means that a new kubeconfig was rejected and the previous
	// one is still in use.
	EventCredentialsRefused = "CredentialsRefused"
	// EventCredentialsExpiring reports that the credentials expire soon or have expired.
	EventCredentialsExpiring = "CredentialsExpiring"
	// EventRenewalDenied reports that a member denies the hub a new token, or that the hub's
	// cluster denies storing it.
	EventRenewalDenied = "RenewalDenied"
	// EventAgentNotReady reports why a member that is Ready cannot switch to its agent.
	EventAgentNotReady = "AgentNotReady"
	// EventDetached means that a member was detached.
	EventDetached = "Detached"
	// EventInvalidName means that a Secret cannot become a MemberCluster because of its
	// name.
	EventInvalidName = "InvalidName"
	// EventDenied means that the hub's cluster rejects the MemberCluster of a Secret.
	EventDenied = "Denied"
)

// Actions of events: what the hub was doing.
const (
	actionConnect  = "Connect"
	actionDetach   = "Detach"
	actionRegister = "Register"
	actionRenew    = "Renew"
)

type transition struct {
	kind, reason, action, note string
}

// transitions returns the events for a change of status.
func transitions(before, after *v1.MemberClusterStatus) []transition {
	return append(connectionTransitions(before, after), renewalTransitions(before, after)...)
}

// renewalTransitions returns an event when CredentialsRenewed becomes False, or its reason
// changes.
func renewalTransitions(before, after *v1.MemberClusterStatus) []transition {
	was, is := condition(before, v1.ConditionCredentialsRenewed), condition(after, v1.ConditionCredentialsRenewed)
	if is.Status != metav1.ConditionFalse || was.Reason == is.Reason {
		return nil
	}
	reason := EventCredentialsExpiring
	if is.Reason == v1.ReasonRenewalDenied {
		reason = EventRenewalDenied
	}
	return []transition{{corev1.EventTypeWarning, reason, actionRenew, is.Message}}
}

func connectionTransitions(before, after *v1.MemberClusterStatus) []transition {
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
		"The cluster was detached; its workloads keep running"}
}

func invalidName() transition {
	return transition{corev1.EventTypeWarning, EventInvalidName, actionRegister,
		"The name of the Secret is not valid for a MemberCluster: use at most 63 characters"}
}

// deniedEvent names the cause. A note is limited to 1 kB.
func deniedEvent(err error) transition {
	return transition{corev1.EventTypeWarning, EventDenied, actionRegister,
		fmt.Sprintf("The MemberCluster could not be created: %.900s", apierror.Message(err))}
}

// notStoredEvent names the cause. A note is limited to 1 kB.
func notStoredEvent(err error) transition {
	return transition{corev1.EventTypeWarning, EventRenewalDenied, actionRenew,
		fmt.Sprintf("The renewed credentials could not be stored in the registration Secret: %.900s", apierror.Message(err))}
}

func (r *Reconciler) record(object client.Object, t transition) {
	r.recorder.Eventf(object, nil, t.kind, t.reason, t.action, "%s", t.note)
}

func (r *Reconciler) recordSecret(key client.ObjectKey, t transition) {
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
	}
	r.record(secret, t)
}
