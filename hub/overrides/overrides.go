package overrides

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/placement"
)

// Effective returns the spec of an application's copy in a member: with the overrides that select
// the member, and without placement, deletion and overrides. It does not change the spec that it is given. The
// error names the override that cannot be applied, and says how to correct it.
func Effective(spec *v1.EcommerceAppSpec, member *v1.MemberCluster) (v1.EcommerceAppSpec, error) {
	out := *spec
	out.Placement, out.Deletion, out.Overrides = v1.Placement{}, v1.Deletion{}, nil
	out = *out.DeepCopy()
	cluster := placement.Cluster{Name: member.Name, Labels: member.Labels, Region: member.Status.Region, Provider: member.Status.Provider}
	for i := range spec.Overrides {
		selected, err := placement.Matches(asPlacement(&spec.Overrides[i].Selector), &cluster)
		if err != nil {
			return v1.EcommerceAppSpec{}, fmt.Errorf("spec.overrides[%d].selector: %w", i, err)
		}
		if !selected {
			continue
		}
		o := spec.Overrides[i].DeepCopy()
		merge(&out, o)
		if out, err = patch(out, o.JSONPatches); err != nil {
			return v1.EcommerceAppSpec{}, fmt.Errorf("spec.overrides[%d].%w", i, err)
		}
	}
	return out, nil
}

// asPlacement returns the placement with the criteria of a selector.
func asPlacement(s *v1.OverrideSelector) *v1.Placement {
	p := &v1.Placement{ClusterNames: s.ClusterNames, Regions: s.Regions, Providers: s.Providers}
	if by := s.ClusterSelector; by != nil {
		p.ClusterSelector = &metav1.LabelSelector{MatchLabels: by.MatchLabels}
		for _, e := range by.MatchExpressions {
			p.ClusterSelector.MatchExpressions = append(p.ClusterSelector.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: e.Key, Operator: metav1.LabelSelectorOperator(e.Operator), Values: e.Values})
		}
	}
	return p
}

// merge applies the fields of an override, without its patches. The spec may keep parts of it.
func merge(spec *v1.EcommerceAppSpec, o *v1.Override) {
	replace(&spec.Image, o.Image)
	replace(&spec.ImageRegistry, o.ImageRegistry)
	replace(&spec.Replicas, o.Replicas)
	mergeWorkload(&spec.Frontend, &o.Frontend)
	mergeWorkload(&spec.Backend, &o.Backend)
	replace(&spec.Ingress.Host, o.Ingress.Host)
	replace(&spec.Ingress.ClassName, o.Ingress.ClassName)
	mergeMap(&spec.Ingress.Annotations, o.Ingress.Annotations)
	if db := spec.Database; db != nil {
		replace(&db.Image, o.Database.Image)
		replace(&db.Replicas, o.Database.Replicas)
		mergeContainer(&db.Resources, &db.PodSettings, &o.Database.ContainerOverride)
		if o.Database.StorageProfile != "" {
			// The two exclude each other.
			db.StorageProfile, db.StorageClassName = o.Database.StorageProfile, nil
		}
	}
}

func mergeWorkload(w *v1.Workload, o *v1.WorkloadOverride) {
	replace(&w.Image, o.Image)
	replace(&w.Replicas, o.Replicas)
	mergeContainer(&w.Resources, &w.PodSettings, &o.ContainerOverride)
	w.Env = mergeList(w.Env, o.Env, func(e corev1.EnvVar) string { return e.Name })
}

func mergeContainer(resources *v1.Resources, pods *v1.PodSettings, o *v1.ContainerOverride) {
	mergeMap(&resources.Requests, v1.Amounts(o.Resources.Requests))
	mergeMap(&resources.Limits, v1.Amounts(o.Resources.Limits))
	mergeMap(&pods.NodeSelector, o.NodeSelector)
	pods.ImagePullSecrets = mergeList(pods.ImagePullSecrets, o.ImagePullSecrets, func(r v1.LocalSecretReference) string { return r.Name })
}

// replace sets a field, unless the value is the zero one.
func replace[T comparable](field *T, value T) {
	if value != *new(T) {
		*field = value
	}
}

// mergeMap adds entries to a map, in place of those with the same keys.
func mergeMap[M ~map[K]V, K comparable, V any](to *M, from M) {
	if len(from) > 0 && *to == nil {
		*to = M{}
	}
	maps.Copy(*to, from)
}

// mergeList adds items to a list, each in the place of the one with the same name.
func mergeList[S ~[]E, E any](to, from S, nameOf func(E) string) S {
	for _, item := range from {
		i := slices.IndexFunc(to, func(e E) bool { return nameOf(e) == nameOf(item) })
		if i < 0 {
			to = append(to, item)
		} else {
			to[i] = item
		}
	}
	return to
}
