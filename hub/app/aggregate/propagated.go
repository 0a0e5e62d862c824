package aggregate

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// setPropagated sets the condition Propagated: what the hub cannot read comes before what it cannot
// write in clusters. Clusters that do not respond do not count.
func setPropagated(in Input, next *v1.EcommerceAppStatus) {
	if in.Deleting || in.Unread {
		return
	}
	if in.Propagated == nil {
		meta.RemoveStatusCondition(&next.Conditions, v1.ConditionPropagated)
		return
	}
	c := *in.Propagated
	if refused, first := refusing(in, next.Clusters); c.Status == metav1.ConditionTrue && first != nil {
		c.Status, c.Reason = metav1.ConditionFalse, first.Reason
		c.Message = fmt.Sprintf("not written in %s: %s", names(refused), v1.Excerpt(first.Message, maxMessage))
	}
	c.ObservedGeneration, c.LastTransitionTime = in.Generation, in.Now
	meta.SetStatusCondition(&next.Conditions, c)
}

// refusing returns the entries of connected clusters in which a propagated object could not be
// written, and the failure in the first.
func refusing(in Input, entries []v1.ClusterStatus) ([]v1.ClusterStatus, *Failure) {
	var refused []v1.ClusterStatus
	var first *Failure
	members := membersByName(in.Clusters)
	for _, e := range entries {
		c := members[e.Name]
		if c.Connection == Connected && c.PropagationFailure != nil && e.Phase != v1.PhaseDeleting {
			refused = append(refused, e)
			first = cmp.Or(first, c.PropagationFailure)
		}
	}
	return refused, first
}
