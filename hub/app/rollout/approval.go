package rollout

import (
	"strconv"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// ToApprove returns the rollout of an application that waits for an approval, of a revision or of a version of the pod
// templates, and the value of the annotation that approves its next region. The rollout is nil if none waits.
func ToApprove(app *v1.EcommerceApp) (string, *v1.RolloutStatus) {
	prefix, r := "", app.Status.Rollout
	if r == nil || r.State != v1.RolloutWaitingForApproval {
		prefix, r = v1.ApproveRendering, app.Status.Rendering
	}
	if r == nil || r.State != v1.RolloutWaitingForApproval {
		return "", nil
	}
	return prefix + strconv.FormatInt(r.Revision, 10) + "/" + r.Region, r
}

// IsPaused reports whether a user pauses the rollouts of an application.
func IsPaused(app *v1.EcommerceApp) bool {
	return app.Spec.Rollout != nil && app.Annotations[v1.RolloutPausedAnnotation] == "true"
}
