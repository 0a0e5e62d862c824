package scheduler

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// refused adds to the condition that Backups cannot be created or deleted, if that lasts until a user acts.
func (p *Plan) refused(d apierror.Decision) {
	if !d.Blocking {
		return
	}
	if p.Condition.Status != metav1.ConditionFalse {
		p.Condition.Status, p.Condition.Reason = metav1.ConditionFalse, d.Reason
	}
	p.Condition.Message = v1.Excerpt("Backups cannot be created or deleted: "+d.Message+"; "+p.Condition.Message, steps.MaxMessage)
}
