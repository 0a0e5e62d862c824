package rollout

import (
	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// database is the name of the component of which a part of a revision says how large it is.
const database = "database"

// ComponentsOf returns the components of a copy that are not ready, by its status.
func ComponentsOf(status *v1.EcommerceAppStatus) []Component {
	var unready []Component
	for i := range status.Components {
		k := &status.Components[i]
		if k.Ready {
			continue
		}
		unready = append(unready, Component{
			Name: k.Name, Reason: k.Reason, Changing: k.Reason == v1.ReasonProgressing, Copying: k.Reason == v1.ReasonCopyingData,
			Growing: isGrowing(k), Scaling: status.Phase == v1.PhaseScaling,
		})
	}
	return unready
}

// OnlyGrowthFails reports whether what fails of a copy is a component that cannot grow: it serves as before, and needs
// no user for the sake of the revision.
func OnlyGrowthFails(status *v1.EcommerceAppStatus) bool {
	grows := false
	for i := range status.Components {
		if k := &status.Components[i]; k.Phase == v1.PhaseFailed {
			if !isGrowing(k) {
				return false
			}
			grows = true
		}
	}
	return grows
}

// isGrowing reports whether a component that is not ready has its present spec, and waits for pods or volumes that are
// added. A database has no pods beside those of its spec, and they are created together.
func isGrowing(k *v1.ComponentStatus) bool {
	if k.Name != database {
		return false
	}
	switch k.Reason {
	case v1.ReasonScaling, v1.ReasonWaitingForReplicas, v1.ReasonWaitingForStorage, v1.ReasonStorageNotExpandable,
		v1.ReasonUnschedulable, v1.ReasonProvisioningFailed:
		return true // None of them is reported while pods have an earlier spec.
	case v1.ReasonCopyingData, v1.ReasonDeadlineExceeded:
		return k.UpdatedReplicas >= k.Replicas
	case v1.ReasonFailedCreate:
		return k.UpdatedReplicas >= k.ReadyReplicas
	default:
		return false
	}
}
