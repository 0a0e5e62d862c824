package aggregate

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// withoutReports takes out of entries what clusters report in their own words and numbers. What the hub has
// concluded stays: phases, and which clusters are ready, serve customers or wait for a user.
func withoutReports(entries []v1.ClusterStatus) {
	for i := range entries {
		e := &entries[i]
		e.Message, e.Components, e.Addresses = "", nil, nil
		e.Replicas, e.ReadyReplicas, e.PendingChangeCount, e.ReplicationLagSeconds = 0, 0, 0, nil
		if e.Reason != "" && !e.Stale {
			e.Reason = v1.ReasonStatusRejected
		}
		if e.DegradedReason != "" {
			e.DegradedReason = v1.ReasonStatusRejected
		}
	}
}

// setStatusRejected sets the condition StatusRejected, and takes out of the status what clusters report beside the
// entries. It removes the condition if nothing was rejected.
func setStatusRejected(in Input, next *v1.EcommerceAppStatus) {
	if in.StatusRejection == "" {
		meta.RemoveStatusCondition(&next.Conditions, v1.ConditionStatusRejected)
		return
	}
	next.Selector, next.Components, next.PendingChanges = in.Previous.Selector, nil, nil
	if next.Rollout != nil {
		next.Rollout.Message = ""
	}
	meta.SetStatusCondition(&next.Conditions, metav1.Condition{
		Type: v1.ConditionStatusRejected, Status: metav1.ConditionTrue, Reason: v1.ReasonStatusRejected,
		Message: in.StatusRejection, ObservedGeneration: in.Generation, LastTransitionTime: in.Now,
	})
}

// StatusRejection describes that the API server rejects a status, for Input.StatusRejection. Fields are the paths of
// what it rejects, and cause is why.
func StatusRejection(status *v1.EcommerceAppStatus, fields []string, cause string) string {
	var clusters []string
	for _, field := range fields {
		var i int
		if _, err := fmt.Sscanf(field, "status.clusters[%d]", &i); err == nil && i >= 0 && i < len(status.Clusters) {
			clusters = append(clusters, status.Clusters[i].Name)
		}
	}
	slices.Sort(clusters)
	of := v1.FirstOf(slices.Compact(clusters))
	if of == "" {
		of = "a cluster"
	}
	return fmt.Sprintf("the API server refuses what %s reports, so the status is without what clusters report: look at the copy there, or detach the cluster if you do not trust it (%s)",
		of, v1.Excerpt(cause, maxCause))
}
