package aggregate

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Bounds of what a cluster reports. The numbers add up over 500 clusters, and their sum has 31 bits.
const (
	maxReplicas      = 1_000_000
	maxSelector      = 2048
	maxVersion       = 63
	maxReportedNames = 64
	maxReportedText  = 1024
	maxKind          = 63
	maxObjectName    = 253
	maxFields        = 10
	maxField         = 256
	maxOrigin        = 128
	maxCause         = 256
)

// Bounded returns what was observed of a member within the bounds of the hub's status: a member may report
// anything, and must not make the API server refuse the status of the application in all others. What is not
// valid is left out. It does not change what it is given. All that is observed passes through it once, before
// anything is decided.
func (c Cluster) Bounded() Cluster {
	if c.Copy != nil {
		copied := *c.Copy
		copied.HubGeneration, copied.Revision = max(0, copied.HubGeneration), max(0, copied.Revision)
		copied.UpgradeRefused = v1.Excerpt(copied.UpgradeRefused, maxReportedText)
		copied.Status = reported(&c.Copy.Status)
		c.Copy = &copied
	}
	c.Failure, c.PropagationFailure = reportedFailure(c.Failure), reportedFailure(c.PropagationFailure)
	c.Pending = reportedChanges(c.Pending)
	c.Unknown = v1.Excerpt(c.Unknown, maxOrigin)
	return c
}

// reportedFailure returns a failure within the bounds; nil if there is none.
func reportedFailure(f *Failure) *Failure {
	if f == nil {
		return nil
	}
	out := *f
	out.Reason, out.Message = v1.ValidReason(f.Reason, v1.ReasonApplyFailed), v1.Excerpt(f.Message, maxReportedText)
	return &out
}

// reported returns a copy's status within the bounds, without what only the status of the hub has.
func reported(status *v1.EcommerceAppStatus) v1.EcommerceAppStatus {
	out := *status
	out.Phase, out.Message, out.Ready = validPhase(status.Phase), v1.Excerpt(status.Message, maxReportedText), ""
	out.ObservedGeneration, out.Selector = max(0, status.ObservedGeneration), validSelector(status.Selector)
	out.Replicas, out.ClusterCount, out.RegionCount = count(status.Replicas), 0, 0
	out.Conditions, out.Components = reportedConditions(status.Conditions), reportedComponents(status.Components)
	out.DatabaseReplicas, out.StartedServer = reportedReplicas(status.DatabaseReplicas), v1.ValidServer(status.StartedServer)
	out.Addresses = v1.ValidAddresses(status.Addresses[:min(len(status.Addresses), maxReportedNames)])
	out.PendingChanges, out.PendingChangeCount = reportedChanges(status.PendingChanges), count(status.PendingChangeCount)
	out.RenderingVersion, out.HeldTemplates = v1.Excerpt(status.RenderingVersion, maxVersion), reportedNames(status.HeldTemplates)
	out.Regions, out.Clusters, out.Backups, out.Placement, out.Rollout, out.Rendering = nil, nil, nil, nil, nil, nil
	return out
}

// componentNames returns the components of an application, in the order in which they are started.
func componentNames() []string {
	return []string{"database", "backend", frontend, "ingress", "monitoring"}
}

func count(n int32) int32 { return min(max(0, n), maxReplicas) }

// validPhase returns a phase, or an empty one if there is none of this name.
func validPhase(p v1.Phase) v1.Phase {
	if !slices.Contains(phases(), p) {
		return ""
	}
	return p
}

// validSelector returns a selector, or an empty one if it cannot be parsed or is too long.
func validSelector(selector string) string {
	if _, err := labels.Parse(selector); err != nil || len(selector) > maxSelector {
		return ""
	}
	return selector
}

// reportedComponents returns the components that the hub knows, each once.
func reportedComponents(reported []v1.ComponentStatus) []v1.ComponentStatus {
	var all []v1.ComponentStatus
	for i := range reported {
		c := &reported[i]
		known := func(other v1.ComponentStatus) bool { return other.Name == c.Name }
		if !slices.Contains(componentNames(), c.Name) || slices.ContainsFunc(all, known) {
			continue
		}
		all = append(all, v1.ComponentStatus{
			Name: c.Name, Phase: validPhase(c.Phase), Ready: c.Ready,
			Reason: v1.ValidReason(c.Reason, ""), Message: v1.Excerpt(c.Message, maxReportedText),
			Replicas: count(c.Replicas), ReadyReplicas: count(c.ReadyReplicas), UpdatedReplicas: count(c.UpdatedReplicas),
		})
	}
	return all
}

// reportedNames returns the names of components that the hub knows.
func reportedNames(reported []string) []string {
	var names []string
	for _, name := range reported {
		if slices.Contains(componentNames(), name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// reportedConditions returns the conditions with a known status, the first of each type. Types that the hub
// does not know are ignored by those that look for others.
func reportedConditions(reported []metav1.Condition) []metav1.Condition {
	var all []metav1.Condition
	for i := range reported {
		c := &reported[i]
		known := func(other metav1.Condition) bool { return other.Type == c.Type }
		status := slices.Contains([]metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}, c.Status)
		if !status || len(all) == maxReportedNames || slices.ContainsFunc(all, known) {
			continue
		}
		all = append(all, metav1.Condition{
			Type: c.Type, Status: c.Status, ObservedGeneration: c.ObservedGeneration, LastTransitionTime: c.LastTransitionTime,
			Reason: v1.ValidReason(c.Reason, v1.ReasonProgressing), Message: v1.Excerpt(c.Message, maxReportedText),
		})
	}
	return all
}

// reportedReplicas returns the replicas without lags that are negative.
func reportedReplicas(reported []v1.DatabaseReplica) []v1.DatabaseReplica {
	all := slices.Clone(reported[:min(len(reported), maxReportedNames)])
	for i := range all {
		if lag := all[i].LagSeconds; lag != nil && *lag < 0 {
			all[i].LagSeconds = nil
		}
	}
	return all
}

// reportedChanges returns the changes that are held back and whose action is known.
func reportedChanges(reported []v1.PendingChange) []v1.PendingChange {
	actions := []v1.PendingAction{v1.PendingCreate, v1.PendingUpdate, v1.PendingRecreate, v1.PendingExpand, v1.PendingDelete}
	var all []v1.PendingChange
	for i := range reported {
		c := &reported[i]
		if !slices.Contains(actions, c.Action) || len(all) == v1.MaxPendingChanges {
			continue
		}
		next := v1.PendingChange{Kind: v1.Excerpt(c.Kind, maxKind), Name: v1.Excerpt(c.Name, maxObjectName), Action: c.Action}
		for _, field := range c.Fields[:min(len(c.Fields), maxFields)] {
			next.Fields = append(next.Fields, v1.Excerpt(field, maxField))
		}
		all = append(all, next)
	}
	return all
}
