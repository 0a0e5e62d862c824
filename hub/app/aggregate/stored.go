package aggregate

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// setStored sets the condition StoredAsApplied while copies have it, with what the first of them says. It
// stays as it was while the copy of a cluster that may have it is not known.
func setStored(in Input, next *v1.EcommerceAppStatus) {
	chosen := setOf(in.Chosen)
	unknown, changed := false, []Cluster{}
	for _, c := range in.Clusters {
		switch {
		case !chosen[c.Name] || in.Deleting:
		case c.Connection != Connected || c.Copy == nil:
			unknown = true
		case meta.IsStatusConditionFalse(c.Copy.Status.Conditions, v1.ConditionStoredAsApplied):
			changed = append(changed, c)
		}
	}
	if len(changed) == 0 {
		if !unknown {
			meta.RemoveStatusCondition(&next.Conditions, v1.ConditionStoredAsApplied)
		}
		return
	}
	first := slices.MinFunc(changed, func(a, b Cluster) int { return cmp.Compare(a.Name, b.Name) })
	said := meta.FindStatusCondition(first.Copy.Status.Conditions, v1.ConditionStoredAsApplied)
	meta.SetStatusCondition(&next.Conditions, metav1.Condition{
		Type: v1.ConditionStoredAsApplied, Status: metav1.ConditionFalse, Reason: v1.ReasonChangedByAdmission,
		Message:            v1.Excerpt(fmt.Sprintf("in %d of %s; %s: %s", len(changed), plural(next.ClusterCount, "cluster"), first.Name, said.Message), maxMessage),
		ObservedGeneration: in.Generation, LastTransitionTime: in.Now,
	})
}
