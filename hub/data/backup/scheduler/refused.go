package scheduler

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// refused adds to the condition that Backups cannot be created or deleted, if that lasts until a user acts.
func (d *Decision) refused(cause apierror.Decision) {
	if !cause.Blocking {
		return
	}
	if d.Condition.Status != metav1.ConditionFalse {
		d.Condition.Status, d.Condition.Reason = metav1.ConditionFalse, cause.Reason
	}
	d.Condition.Message = v1.Excerpt("Backups cannot be created or deleted: "+cause.Message+"; "+d.Condition.Message, steps.MaxMessage)
}
