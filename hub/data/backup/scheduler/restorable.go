package scheduler

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// notRestorable returns the condition of a Backup that says why it cannot be restored to a cluster like
// its own today; nil if it says nothing, or if a user has said since that the cluster attaches its volumes.
func (in input) notRestorable(b *v1.Backup) *metav1.Condition {
	c := meta.FindStatusCondition(b.Status.Conditions, v1.ConditionRestorable)
	switch {
	case c == nil || c.Status != metav1.ConditionFalse:
		return nil
	case c.Reason == v1.ReasonNotAttachable && in.members[b.Spec.ClusterRef.Name].Annotations[v1.AttachesVolumesAnnotation] == "true":
		return nil
	default:
		return c
	}
}

// restorable returns a problem if the newest successful backup of a cluster cannot be restored.
func (in input) restorable(cluster string, mine []*v1.Backup) problem {
	good := newestGood(mine)
	if good == nil {
		return problem{}
	}
	c := in.notRestorable(good)
	if c == nil {
		return problem{}
	}
	return problem{c.Reason, fmt.Sprintf("%s: the newest successful backup, %s: %s", cluster, good.Name, c.Message)}
}

// missing returns a problem if the newest backup of a cluster is not in the cloud any more.
func missing(cluster string, mine []*v1.Backup) problem {
	gone, good := newest(mine, (*v1.Backup).IsMissing), newestGood(mine)
	if gone == nil || good != nil && !pointInTime(good).Before(pointInTime(gone)) {
		return problem{}
	}
	left := "no other is left"
	if good != nil {
		left = fmt.Sprintf("the newest one that is left, %s, is of %s", good.Name, pointInTime(good).UTC().Format(time.RFC3339))
	}
	return problem{v1.ReasonSnapshotMissing, fmt.Sprintf("%s: the newest backup, %s, is lost: %s; %s", cluster, gone.Name, gone.Status.Message, left)}
}
