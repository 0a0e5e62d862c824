package overrides

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/placement"
)

// Effective returns the spec of an application's copy in a member: with the overrides that select
// the member, and without placement, rollout, deletion, overrides and propagate. It does not change the spec that it is given. The
// error names the override that cannot be applied, and says how to correct it.
func Effective(spec *v1.EcommerceAppSpec, member *v1.MemberCluster) (v1.EcommerceAppSpec, error) {
	out := *spec
	out.Placement, out.Deletion, out.Overrides, out.Rollout, out.Propagate = v1.Placement{}, v1.Deletion{}, nil, nil, nil
	out = *out.DeepCopy()
	cluster := placement.Cluster{Name: member.Name, Labels: member.Labels, Region: member.Status.Region, Provider: member.Status.Provider}
	for i := range spec.Overrides {
		selected, err := placement.Matches(&spec.Overrides[i].Selector, &cluster)
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

// Shared returns a spec with a cluster's part of the replicas in place of the total; the spec itself if they are
// not divided, and Share is nil. It does not change the spec that it is given.
func Shared(from *v1.EcommerceAppSpec, share *v1.ReplicaShare) *v1.EcommerceAppSpec {
	if share == nil {
		return from
	}
	spec := *from
	// An earlier revision may have autoscaling where the spec has not.
	switch {
	case spec.Frontend.Autoscaling != nil:
	case spec.Frontend.Replicas == nil: // An override of replicas replaces the share where the spec has the total.
		spec.Replicas = cmp.Or(share.Frontend, spec.Replicas)
	default:
		spec.Frontend.Replicas = cmp.Or(share.Frontend, spec.Frontend.Replicas)
	}
	if spec.Backend.Autoscaling == nil {
		spec.Backend.Replicas = cmp.Or(share.Backend, spec.Backend.Replicas)
	}
	return &spec
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
	w.Env = mergeList(w.Env, o.Env, func(e v1.EnvVar) string { return e.Name })
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
