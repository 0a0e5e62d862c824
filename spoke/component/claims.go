package component

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// DeletedClaims returns the names of the claims of a StatefulSet's pods that are being deleted, in pod order:
// each is in use until its pod restarts, and gone then.
func DeletedClaims(r Resource, live Live) []string {
	var names []string
	for _, key := range Claims(r) {
		if claim, ok := live[key].(*corev1.PersistentVolumeClaim); ok && claim.DeletionTimestamp != nil {
			names = append(names, key.Name)
		}
	}
	return names
}

// holdsClaims adds the problem of a StatefulSet that is not to be written, because one of its claims is being
// deleted, and reports whether it has one. Whatever is written may restart its pods.
func (p *planner) holdsClaims(component string, want *appsv1.StatefulSet, exists Resource) bool {
	names := DeletedClaims(want, p.in.Live)
	if len(names) == 0 {
		return false
	}
	p.decision.Problems = append(p.decision.Problems, Problem{
		Component: component, Reason: v1.ReasonClaimBeingDeleted, Message: deletedClaimsMessage(want, names),
		Blocking: true, Optional: exists != nil && !outdated(want, exists),
	})
	return exists != nil
}

// deletedClaimsMessage returns the message about claims of a database that are being deleted: which data is
// lost, and what to do. The other pods copy the data of the primary, pod 0.
func deletedClaimsMessage(want *appsv1.StatefulSet, names []string) string {
	pod, name := "", names[0]
	for i, key := range Claims(want) {
		if key.Name == name {
			pod = Pods(want)[i/len(want.Spec.VolumeClaimTemplates)].Name
			break
		}
	}
	if len(names) > 1 {
		name += fmt.Sprintf(" and %d more", len(names)-1)
	}
	if pod != Pods(want)[0].Name {
		return fmt.Sprintf("claim %s is being deleted, so nothing is written that restarts %s: delete pod %s, which then copies the primary's data to a new volume",
			name, describe(want), pod)
	}
	return fmt.Sprintf("claim %s is being deleted and its data is lost when pod %s restarts, so nothing is written that restarts %s: back up the database now, then delete the pod and restore the backup",
		name, pod, describe(want))
}

// deletedDumps returns a problem if a rendered claim is being deleted, otherwise false.
func deletedDumps(component string, want, exists Resource) (Problem, bool) {
	if _, ok := want.(*corev1.PersistentVolumeClaim); !ok || exists == nil || exists.GetDeletionTimestamp() == nil {
		return Problem{}, false
	}
	return Problem{
		Component: component, Reason: v1.ReasonClaimBeingDeleted, Blocking: true, Optional: true,
		Message: fmt.Sprintf("claim %s is being deleted and its dumps are lost when no pod uses it any more: copy them elsewhere now", exists.GetName()),
	}, true
}
