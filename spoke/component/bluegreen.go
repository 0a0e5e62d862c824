package component

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// predecessor returns the live Deployment that serves in place of a desired one: a Service of the
// component still selects its pods. It returns nil if the Service selects those of the desired one, or
// nothing that runs.
//
// A workload with the strategy BlueGreen has another Deployment for each version of its pods. That and the
// Service have the version as a label, which caches keep.
func predecessor(c Component, want Resource, live Live) *appsv1.Deployment {
	if _, ok := want.(*appsv1.Deployment); !ok {
		return nil
	}
	for _, object := range c.Objects {
		service, ok := object.Resource.(*corev1.Service)
		if !ok || versionOf(service) != versionOf(want) {
			continue
		}
		selecting := live[KeyOf(service)]
		if selecting == nil || versionOf(selecting) == versionOf(want) {
			return nil
		}
		return deploymentOf(c.Name, versionOf(selecting), live)
	}
	return nil
}

// versionOf returns the version of the pods of a Deployment, or that a Service selects; empty unless the
// workload is replaced at once.
func versionOf(r Resource) string { return r.GetLabels()[v1.PodTemplateLabel] }

// deploymentOf returns the live Deployment of a component with one version of its pods.
func deploymentOf(component, version string, live Live) *appsv1.Deployment {
	for _, exists := range live {
		d, ok := exists.(*appsv1.Deployment)
		if ok && d.DeletionTimestamp == nil && d.Labels[v1.ComponentLabel] == component && versionOf(d) == version {
			return d
		}
	}
	return nil
}

// replacedBy returns the live object that a desired one changes or replaces; nil if there is none.
func replacedBy(c Component, want Resource, live Live) Resource {
	if exists := live[KeyOf(want)]; exists != nil {
		return exists
	}
	if d := predecessor(c, want, live); d != nil {
		return d
	}
	return nil
}

// successor returns the desired Deployment whose pods a Service is to select in place of those of its
// predecessor, and false for all else.
func successor(c Component, want Resource, live Live) (Object, bool) {
	service, ok := want.(*corev1.Service)
	if !ok {
		return Object{}, false
	}
	i := slices.IndexFunc(c.Objects, func(o Object) bool {
		return versionOf(o.Resource) == versionOf(service) && predecessor(c, o.Resource, live) != nil
	})
	if i < 0 {
		return Object{}, false
	}
	return c.Objects[i], true
}

// awaitsPods reports whether a Service must go on selecting the pods that it selects, because those that
// it is to select are not all ready.
func awaitsPods(c Component, want Resource, live Live) bool {
	next, ok := successor(c, want, live)
	if !ok {
		return false
	}
	facts, _ := observeObject(next, live[KeyOf(next.Resource)], live)
	return len(facts) > 0
}
