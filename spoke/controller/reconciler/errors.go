package reconciler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// notExpandable returns a message that says which claim cannot be expanded and what to
// do. The API server's message is included, because it alone has the cause.
func notExpandable(step component.Step, err error) string {
	class := "its StorageClass"
	if claim, ok := step.Target.(*corev1.PersistentVolumeClaim); ok && claim.Spec.StorageClassName != nil {
		class += " " + *claim.Spec.StorageClassName
	}
	return fmt.Sprintf("claim %s cannot be expanded to %s and keeps its size: set allowVolumeExpansion of %s, "+
		"and check that quotas and permissions allow it (%s)", step.Target.GetName(), step.Size.String(), class, apierror.Message(err))
}
