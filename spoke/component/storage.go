package component

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Claims returns the keys of the volume claims of a StatefulSet's pods, in pod order, and
// nil for other objects.
func Claims(r Resource) []Key { return firstClaims(r, 0) }

// DataClaims returns the keys of the claims that may have data of a StatefulSet: those of its pods, and of the first one
// while it has none, as during a Restore.
func DataClaims(r Resource) []Key { return firstClaims(r, 1) }

// firstClaims returns the keys of the claims of a StatefulSet's pods, in pod order, and of least pods in any case.
func firstClaims(r Resource, least int) []Key {
	set, ok := r.(*appsv1.StatefulSet)
	if !ok {
		return nil
	}
	pods := max(int(valueOr(set.Spec.Replicas, 1)), least)
	keys := make([]Key, 0, pods) // Mostly one for each pod.
	for i := range pods {
		for _, template := range set.Spec.VolumeClaimTemplates {
			keys = append(keys, Key{
				GroupKind: schema.GroupKind{Kind: "PersistentVolumeClaim"},
				Namespace: set.Namespace,
				Name:      fmt.Sprintf("%s-%s-%d", template.Name, set.Name, i),
			})
		}
	}
	return keys
}

// unboundClaims returns the names of a StatefulSet's existing claims that are not bound.
func unboundClaims(r Resource, live Live) []string {
	var unbound []string
	for _, key := range Claims(r) {
		if claim, ok := live[key].(*corev1.PersistentVolumeClaim); ok && claim.Status.Phase != corev1.ClaimBound {
			unbound = append(unbound, key.Name)
		}
	}
	return unbound
}

// claimsToGrow returns a step for each bound claim of a StatefulSet that is smaller than
// its template. Claims never shrink, and unbound claims cannot be expanded yet.
func claimsToGrow(r Resource, live Live) []Step {
	set, ok := r.(*appsv1.StatefulSet)
	if !ok {
		return nil
	}
	var steps []Step
	replicas := int(valueOr(set.Spec.Replicas, 1))
	for i := range replicas {
		for _, template := range set.Spec.VolumeClaimTemplates {
			key := Key{
				GroupKind: schema.GroupKind{Kind: "PersistentVolumeClaim"},
				Namespace: set.Namespace,
				Name:      fmt.Sprintf("%s-%s-%d", template.Name, set.Name, i),
			}
			steps = append(steps, growTo(template.Spec, live[key])...)
		}
	}
	return steps
}

// retainedToGrow returns the step that expands a rendered claim, which is not written again
// once it exists. A claim of that name that is not the application's is not expanded.
func retainedToGrow(r Resource, live Live) []Step {
	want, ok := r.(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil
	}
	exists := live[KeyOf(want)]
	if exists == nil {
		return nil
	}
	for _, label := range []string{v1.ManagedByLabel, v1.PartOfLabel, v1.InstanceLabel} {
		if exists.GetLabels()[label] != want.Labels[label] {
			return nil
		}
	}
	steps := growTo(want.Spec, exists)
	for i := range steps {
		steps[i].Optional = true
	}
	return steps
}

// growTo returns the step that expands a live claim, if it is bound and smaller.
func growTo(want corev1.PersistentVolumeClaimSpec, live Resource) []Step {
	claim, ok := live.(*corev1.PersistentVolumeClaim)
	if !ok || claim.DeletionTimestamp != nil || claim.Status.Phase != corev1.ClaimBound {
		return nil
	}
	size := want.Resources.Requests[corev1.ResourceStorage]
	if have := claim.Spec.Resources.Requests[corev1.ResourceStorage]; size.Cmp(have) <= 0 {
		return nil
	}
	return []Step{{Action: Grow, Target: claim, Size: size}}
}

// keepTemplates returns the desired object with the live claim templates of a StatefulSet,
// if these contain the desired ones: policies add labels and defaults, and the API server
// rejects a change. If it was written from the same ones, it keeps what was stored of them. While claims are being expanded, the size may differ as well. The
// StatefulSet is recreated after the expansion, so that claims that cannot be expanded
// block no other change.
func keepTemplates(want, exists Resource, small []Step) Resource {
	set, ok := want.(*appsv1.StatefulSet)
	live, exist := exists.(*appsv1.StatefulSet)
	if !ok || !exist {
		return want
	}
	if sameFixed(set, live) {
		return keepFixed(set, live)
	}
	sized := slices.Clone(live.Spec.VolumeClaimTemplates)
	for i, template := range sized {
		for _, wanted := range set.Spec.VolumeClaimTemplates {
			if wanted.Name == template.Name && len(small) > 0 {
				sized[i].Spec.Resources = wanted.Spec.Resources
			}
		}
	}
	if !sameClaimTemplates(set.Spec.VolumeClaimTemplates, sized) {
		return want
	}
	kept := set.DeepCopy()
	kept.Spec.VolumeClaimTemplates = live.DeepCopy().Spec.VolumeClaimTemplates
	if noted, ok := renderedOf(set); ok && len(small) > 0 {
		was, _ := renderedOf(live)
		noted.fixed = was.fixed // The set is yet to be replaced.
		noted.record(kept)
	}
	return kept
}

// replaced reports whether a live StatefulSet must be recreated.
func replaced(want, live Resource) bool {
	w, ok := want.(*appsv1.StatefulSet)
	l, exists := live.(*appsv1.StatefulSet)
	return ok && exists && Immutable(w, l) != ""
}

func isStatefulSet(r Resource) bool {
	_, ok := r.(*appsv1.StatefulSet)
	return ok
}

// Immutable returns the first immutable field of a StatefulSet that is to differ; empty if
// there is none.
func Immutable(want, live *appsv1.StatefulSet) string {
	if sameFixed(want, live) {
		return "" // What differs is how the API server stores them: another set would be stored so, too.
	}
	return fixedDifference(want, live)
}

// fixedDifference returns the first immutable field of a StatefulSet that differs; empty if there is none.
func fixedDifference(want, live *appsv1.StatefulSet) string {
	policy := want.Spec.PodManagementPolicy
	if policy == "" {
		policy = appsv1.OrderedReadyPodManagement
	}
	switch {
	case !equality.Semantic.DeepEqual(want.Spec.Selector, live.Spec.Selector):
		return "selector"
	case want.Spec.ServiceName != live.Spec.ServiceName:
		return "serviceName"
	case live.Spec.PodManagementPolicy != "" && policy != live.Spec.PodManagementPolicy:
		return "podManagementPolicy"
	case !sameClaimTemplates(want.Spec.VolumeClaimTemplates, live.Spec.VolumeClaimTemplates):
		return "volumeClaimTemplates"
	default:
		return ""
	}
}

// sameClaimTemplates reports whether live claim templates have everything that is wanted.
// What else they have was added by policies.
func sameClaimTemplates(want, live []corev1.PersistentVolumeClaim) bool {
	return slices.EqualFunc(want, live, func(w, l corev1.PersistentVolumeClaim) bool {
		return w.Name == l.Name &&
			containsAll(l.Labels, w.Labels) &&
			containsAll(l.Annotations, w.Annotations) &&
			slices.Equal(w.Spec.AccessModes, l.Spec.AccessModes) &&
			containsAmounts(l.Spec.Resources.Requests, w.Spec.Resources.Requests) &&
			containsAmounts(l.Spec.Resources.Limits, w.Spec.Resources.Limits) &&
			(w.Spec.Selector == nil || equality.Semantic.DeepEqual(w.Spec.Selector, l.Spec.Selector)) &&
			sameWhereWanted(w.Spec.StorageClassName, l.Spec.StorageClassName) &&
			sameWhereWanted(w.Spec.VolumeMode, l.Spec.VolumeMode)
	})
}

func containsAll(live, want map[string]string) bool {
	for key, value := range want {
		if has, ok := live[key]; !ok || has != value {
			return false
		}
	}
	return true
}

func containsAmounts(live, want corev1.ResourceList) bool {
	for name, amount := range want {
		if has, ok := live[name]; !ok || has.Cmp(amount) != 0 {
			return false
		}
	}
	return true
}

// sameWhereWanted compares two optional values. A nil desired value matches anything,
// because the API server sets a default.
func sameWhereWanted[T comparable](want, live *T) bool {
	return want == nil || live != nil && *want == *live
}
