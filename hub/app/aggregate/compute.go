package aggregate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// MessageRunning is the message of an application that is ready in all its clusters.
const MessageRunning = "Application is running"

// Compute returns the status for an input. It equals the previous status, including
// timestamps, if nothing changed.
func Compute(in Input) v1.EcommerceAppStatus {
	if len(in.Unanswered) > 0 {
		return unanswered(in)
	}
	clusters := clusterEntries(in)
	if in.StatusRejection != "" {
		withoutReports(clusters)
	}
	components := componentEntries(in, clusters)
	clusters = shorten(clusters)
	setObservationTimes(in, clusters)

	next := in.Previous.DeepCopy()
	next.Clusters = clusters
	next.Components = components
	next.Regions = regionEntries(clusters)
	next.ObservedGeneration = in.Generation
	next.LastHandledReconcileAt = handledReconcileAt(in)
	next.LastHandledImageUpdate = in.HandledImageUpdate
	if !in.Deleting {
		next.Placement = &v1.PlacementStatus{DecidedFor: in.Generation, SpecHash: in.PlacementHash, Rejected: in.Rejected}
		next.Rollout, next.Rendering = in.Rollout.DeepCopy(), in.Rendering.DeepCopy()
	}

	pending, count := pendingChanges(in, clusters)
	next.SetPendingChanges(pending)
	next.PendingChangeCount = count

	s := summarize(in, clusters)
	next.Phase, next.Message = s.phase(), s.message()
	next.Ready = fmt.Sprintf("%d/%d", s.ready, s.total)
	next.ClusterCount, next.RegionCount, next.Replicas = s.total, s.regions, s.replicas
	next.Selector = selectorOf(in)
	setConditions(&next.Conditions, s)
	setBackups(in, next)
	setPropagated(in, next)
	setStatusRejected(in, next)
	setStored(in, next)

	stamp(in, next)
	return *next
}

// setBackups copies the summary of the backup scheduler. It does nothing without one
// and for an application that is being deleted.
func setBackups(in Input, next *v1.EcommerceAppStatus) {
	if in.Backups == nil || in.Deleting {
		return
	}
	if !in.Backups.KeepClusters {
		next.Backups = in.Backups.Clusters
	}
	next.LastBackupTime = oldestBackup(next.Backups)
	if in.Backups.Condition == nil {
		meta.RemoveStatusCondition(&next.Conditions, v1.ConditionBackupReady)
		return
	}
	c := *in.Backups.Condition
	c.Type, c.LastTransitionTime = v1.ConditionBackupReady, in.Now
	meta.SetStatusCondition(&next.Conditions, c)
}

// oldestBackup returns the time of the newest backup in the cluster where that is the oldest, nil if a cluster has none.
func oldestBackup(clusters []v1.ClusterBackups) *metav1.Time {
	var oldest *metav1.Time
	for i := range clusters {
		switch last := clusters[i].LastBackupTime; {
		case last == nil:
			return nil
		case oldest == nil || last.Before(oldest):
			oldest = last.DeepCopy()
		}
	}
	return oldest
}

// unanswered returns the status of an application whose inventory was lost and cannot be
// recovered yet. It does not update observedGeneration, so that the recovery is retried.
func unanswered(in Input) v1.EcommerceAppStatus {
	next := in.Previous.DeepCopy()
	next.Phase = v1.PhaseUnknown
	next.Message = "the status was lost; waiting for clusters that may run the application: " + v1.FirstOf(in.Unanswered) +
		"; connect them, or delete the MemberClusters of those that are gone"
	meta.SetStatusCondition(&next.Conditions, metav1.Condition{
		Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonClusterUnreachable,
		Message: next.Message, ObservedGeneration: in.Generation, LastTransitionTime: in.Now,
	})
	stamp(in, next)
	return *next
}

// stamp sets lastUpdated if the status changed. A change of the rejected clusters alone is none
// while the application is placed: it would cost each application a write when one cluster joins
// that may never run it.
func stamp(in Input, next *v1.EcommerceAppStatus) {
	next.LastUpdated = in.Previous.LastUpdated
	decided := next.Placement
	if next.ClusterCount > 0 && decided != nil && in.Previous.Placement != nil {
		next.Placement = &v1.PlacementStatus{DecidedFor: decided.DecidedFor, SpecHash: decided.SpecHash, Rejected: in.Previous.Placement.Rejected}
	}
	if !equality.Semantic.DeepEqual(&in.Previous, next) {
		next.Placement, next.LastUpdated = decided, new(in.Now)
	}
}

// handledReconcileAt returns the requested value of reconcile-at once every reachable
// cluster has handled it, and the previous one until then.
func handledReconcileAt(in Input) string {
	chosen := setOf(in.Chosen)
	for _, c := range in.Clusters {
		if !chosen[c.Name] {
			continue
		}
		switch c.Connection {
		case Connecting:
			return in.Previous.LastHandledReconcileAt
		case Connected:
			if c.Copy == nil || c.Copy.Status.LastHandledReconcileAt != in.ReconcileAt {
				return in.Previous.LastHandledReconcileAt
			}
		case Lost, Detached:
		}
	}
	return in.ReconcileAt
}

// selectorOf returns the selector that a cluster reports. It prefers the previous one, so
// that it is stable.
func selectorOf(in Input) string {
	chosen := setOf(in.Chosen)
	first, selector := "", in.Previous.Selector
	for _, c := range in.Clusters {
		if !chosen[c.Name] || c.Connection != Connected || c.Copy == nil || c.Copy.Status.Selector == "" {
			continue
		}
		if c.Copy.Status.Selector == in.Previous.Selector {
			return in.Previous.Selector
		}
		if first == "" || c.Name < first {
			first, selector = c.Name, c.Copy.Status.Selector
		}
	}
	return selector
}

// setObservationTimes sets the observation time of each entry: now if it changed, the previous
// time if not, and the time of the last response if the cluster is lost.
func setObservationTimes(in Input, entries []v1.ClusterStatus) {
	previous := byName(in.Previous.Clusters)
	members := membersByName(in.Clusters)
	for i := range entries {
		e := &entries[i]
		old, existed := previous[e.Name]
		e.LastObservedTime = old.LastObservedTime
		switch members[e.Name].Connection {
		case Connected:
			if !existed || !equality.Semantic.DeepEqual(old, *e) {
				e.LastObservedTime = new(in.Now)
			}
		case Lost:
			if t := members[e.Name].LastObserved; t != nil {
				e.LastObservedTime = new(metav1.NewTime(t.Time))
			}
		case Connecting, Detached:
		}
	}
}

func byName(entries []v1.ClusterStatus) map[string]v1.ClusterStatus {
	m := make(map[string]v1.ClusterStatus, len(entries))
	for _, e := range entries {
		m[e.Name] = e
	}
	return m
}

func membersByName(clusters []Cluster) map[string]Cluster {
	m := make(map[string]Cluster, len(clusters))
	for _, c := range clusters {
		m[c.Name] = c
	}
	return m
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

func sortClusters(entries []v1.ClusterStatus) {
	slices.SortFunc(entries, func(a, b v1.ClusterStatus) int { return strings.Compare(a.Name, b.Name) })
}
