package controller

import (
	"cmp"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members"
)

// significantRequests is the part of what is allocatable by which requests must have changed to be
// written.
const significantRequests = 0.05

// facts is the input of decide.
type facts struct {
	cluster *v1.MemberCluster
	// secret is the name of the registration Secret, and registered is true if it exists.
	secret     string
	registered bool
	// registration is that Secret; nil if there is none.
	registration *corev1.Secret
	// state is the fleet's state of the member; zero if it is not registered.
	state members.State
	// apps is the number of shops placed on the cluster.
	apps int32
	// residue is the number of recorded copies that stayed behind.
	residue int32
	// orphans is the number of copies without an application; nil if unknown.
	orphans *int32
	now     time.Time
}

// decide returns the status for the facts.
func decide(f facts) v1.MemberClusterStatus {
	last := &f.cluster.Status
	next := *last.DeepCopy()
	next.Apps, next.ResidueCount = f.apps, f.residue
	if f.orphans != nil {
		next.OrphanCount = *f.orphans
	}
	switch {
	case !f.registered:
		f.detach(&next)
	case !f.state.Known && hasReady(last):
		return next // Keep the status from before the hub started.
	default:
		f.fill(&next)
	}
	next.Taints = f.taints()
	next.ObservedGeneration = f.cluster.Generation
	next.LastObservedTime = f.observed(last, &next)
	return next
}

// taints returns the taints with the effect NoExecute, and since when each has been there.
func (f *facts) taints() []v1.TaintStatus {
	var all []v1.TaintStatus
	for _, taint := range f.cluster.Spec.Taints {
		if taint.Effect != v1.TaintNoExecute {
			continue
		}
		next := v1.TaintStatus{Key: taint.Key, Value: taint.Value, AddedTime: metav1.NewTime(f.now.Truncate(time.Second))}
		for _, known := range f.cluster.Status.Taints {
			if known.Key == taint.Key && known.Value == taint.Value {
				next.AddedTime = known.AddedTime
			}
		}
		all = append(all, next)
	}
	return all
}

// hasReady reports whether a status has a definite Ready condition for a registered
// member.
func hasReady(status *v1.MemberClusterStatus) bool {
	return condition(status, v1.ConditionReady).Status != metav1.ConditionUnknown && !detached(status)
}

// detached reports whether a status says that the registration is missing.
func detached(status *v1.MemberClusterStatus) bool {
	ready := meta.FindStatusCondition(status.Conditions, v1.ConditionReady)
	return ready != nil && ready.Reason == v1.ReasonSecretNotFound
}

func (f *facts) detach(next *v1.MemberClusterStatus) {
	gone := members.Condition{
		Status: metav1.ConditionFalse,
		Reason: v1.ReasonSecretNotFound,
		Message: fmt.Sprintf("the hub's namespace has no Secret %q with the label %s: %q",
			f.secret, v1.MemberClusterLabel, registered),
	}
	f.set(next, v1.ConditionReady, gone)
	f.set(next, v1.ConditionConnected, gone)
	next.OrphanCount = 0 // Orphans are no longer counted there.
}

func (f *facts) fill(next *v1.MemberClusterStatus) {
	f.set(next, v1.ConditionReady, f.state.Ready)
	f.set(next, v1.ConditionConnected, f.state.Connected)
	f.set(next, v1.ConditionAuthorized, f.state.Authorized)
	f.set(next, v1.ConditionIdentityVerified, f.state.IdentityVerified)
	f.set(next, v1.ConditionCredentialsValid, f.state.CredentialsValid)
	f.setOptional(next, v1.ConditionCredentialsRenewed, f.state.CredentialsRenewed)
	if f.state.AccountRestricted.Status != "" { // A hub that does not know it yet keeps what one before it found.
		f.set(next, v1.ConditionAccountRestricted, f.state.AccountRestricted)
	}
	f.setOptional(next, v1.ConditionAgentReady, f.state.AgentReady)
	f.setOptional(next, v1.ConditionDefinitionsCurrent, f.state.DefinitionsCurrent)
	next.LastHandledRenewAt = cmp.Or(f.state.HandledRenewRequest, next.LastHandledRenewAt)
	next.OtherHub = v1.Excerpt(f.state.OtherHub, maxText)
	info, spec := bounded(f.state.Info), &f.cluster.Spec
	if info.UID != "" {
		next.KubernetesVersion, next.AgentVersion = info.Version, info.AgentVersion
		if next.ClusterUID == "" {
			next.ClusterUID = info.UID
		}
		next.Zones = info.Zones
		next.Nodes, next.ReadyNodes = info.Nodes, info.ReadyNodes
		next.Allocatable = resourceList(info.Allocatable)
		next.Requested = requested(next.Requested, &info)
		next.Capabilities = info.Capabilities
		next.CredentialsExpirationTime = v1.Seconds(info.CredentialsExpireAt)
	}
	// Placement follows the provider and the region, so nodes that come and go must not
	// change them: that would delete copies.
	next.Provider = cmp.Or(spec.Provider, next.Provider, info.Provider)
	next.Region = cmp.Or(spec.Region, next.Region, info.Region)
}

// requested returns what the pods in a cluster request: what was written last, unless it differs by more
// than significantRequests of what is allocatable. Pods come and go each minute.
func requested(last v1.ResourceList, info *members.Info) v1.ResourceList {
	switch {
	case !info.PodsListed:
		return last
	case last == nil || info.Requested == nil:
		return resourceList(info.Requested)
	}
	for name, is := range info.Requested {
		was, allocatable := last[v1.ResourceName(name)], info.Allocatable[name]
		difference := math.Abs(is.AsApproximateFloat64() - was.AsApproximateFloat64())
		if !allocatable.IsZero() && difference > significantRequests*allocatable.AsApproximateFloat64() {
			return resourceList(info.Requested)
		}
	}
	return last
}

// resourceList returns what was counted in a cluster as the status has it.
func resourceList(counted corev1.ResourceList) v1.ResourceList {
	if counted == nil {
		return nil
	}
	list := make(v1.ResourceList, len(counted))
	for name, quantity := range counted {
		list[v1.ResourceName(name)] = quantity
	}
	return list
}

// setOptional sets a condition, or removes it if it has no status.
func (f *facts) setOptional(next *v1.MemberClusterStatus, kind string, c members.Condition) {
	if c.Status == "" {
		meta.RemoveStatusCondition(&next.Conditions, kind)
		return
	}
	f.set(next, kind, c)
}

func (f *facts) set(next *v1.MemberClusterStatus, kind string, c members.Condition) {
	meta.SetStatusCondition(&next.Conditions, metav1.Condition{
		Type:               kind,
		Status:             c.Status,
		Reason:             v1.ValidReason(c.Reason, v1.ReasonProbeFailed),
		Message:            v1.Excerpt(c.Message, maxConditionMessage),
		ObservedGeneration: f.cluster.Generation,
		LastTransitionTime: metav1.NewTime(f.now),
	})
}

// observed returns the time of the observation. For a connected member it is updated
// together with other changes only. If the agent is silent, it is the time of the last
// Lease renewal.
func (f *facts) observed(last, next *v1.MemberClusterStatus) *metav1.Time {
	probed := v1.Seconds(f.state.LastProbe)
	if f.state.Engaged && silent(f.state.Ready) {
		probed = v1.Seconds(f.state.AgentLastSeen)
	}
	if !f.registered || probed == nil {
		return last.LastObservedTime
	}
	if f.state.Engaged && equality.Semantic.DeepEqual(last, next) {
		return last.LastObservedTime
	}
	return probed
}

// silent reports whether a member is not ready because of its agent.
func silent(ready members.Condition) bool {
	return ready.Reason == v1.ReasonAgentSilent || ready.Reason == v1.ReasonAgentMissing
}
