package component

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// unavailable returns why a component does not serve customers; empty if it does.
func unavailable(c Component, pending *cutover, live Live) string {
	for _, object := range c.Objects {
		if c.Auxiliary && IsWorkload(object.Resource) {
			continue
		}
		if reason := unavailableReason(object.Resource, pending, live); reason != "" {
			return reason
		}
	}
	if !slices.ContainsFunc(c.Objects, isWayIn) {
		return c.Unserved
	}
	return ""
}

// unavailableReason returns why one object, or what serves in its place, does not serve customers; empty
// if it does. Objects other than workloads, Ingresses and HTTPRoutes are created together with them.
func unavailableReason(want Resource, pending *cutover, live Live) string {
	exists := live[KeyOf(want)]
	if pending != nil && want == Resource(pending.next) {
		exists = pending.serving
	}
	switch w := want.(type) {
	case *appsv1.StatefulSet:
		return primaryUnavailable(w, live)
	case *appsv1.Deployment:
		d, _ := exists.(*appsv1.Deployment)
		switch {
		case d == nil && valueOr(w.Spec.Replicas, 1) > 0:
			return describe(want) + " does not exist"
		case d == nil, valueOr(w.Spec.Replicas, valueOr(d.Spec.Replicas, 1)) == 0, d.Status.AvailableReplicas > 0:
			return ""
		default:
			return describe(exists) + " has no available replica"
		}
	case *networkingv1.Ingress, *unstructured.Unstructured:
		if exists == nil && isWayIn(Object{Resource: want}) {
			return describe(want) + " does not exist"
		}
	}
	return ""
}

// primaryUnavailable returns why the primary of a database does not serve: pod 0. Without the pod,
// which the cache may not have yet, a set serves if all its pods are ready.
func primaryUnavailable(want *appsv1.StatefulSet, live Live) string {
	pods := Pods(want)
	if len(pods) == 0 {
		return describe(want) + " is scaled to 0 replicas"
	}
	set, _ := live[KeyOf(want)].(*appsv1.StatefulSet)
	switch pod, ok := live[pods[0]].(*corev1.Pod); {
	case ok && pod.DeletionTimestamp != nil:
		return "pod " + pod.Name + " is being deleted"
	case ok && IsReady(pod), !ok && set != nil && set.Status.ReadyReplicas >= valueOr(want.Spec.Replicas, 1):
		return ""
	case ok:
		return "pod " + pod.Name + " is not ready"
	case set == nil:
		return describe(want) + " does not exist"
	default:
		return "pod " + pods[0].Name + " does not exist"
	}
}

// serving reports whether the workloads of a component serve its dependents with the desired
// version. Replicas that are not ready do not matter as long as one serves: for a database, the
// primary.
func serving(c Component, live Live) bool {
	serves := false
	for _, object := range c.Objects {
		if !IsWorkload(object.Resource) {
			continue
		}
		exists := live[KeyOf(object.Resource)]
		if exists == nil || exists.GetDeletionTimestamp() != nil || unavailableReason(object.Resource, nil, live) != "" || !servesVersion(object.Resource, live) {
			return false
		}
		serves = true
	}
	return serves
}

// servesVersion reports whether the pods of an existing workload that serve have the desired
// version: all of a Deployment, the primary of a StatefulSet.
func servesVersion(want Resource, live Live) bool {
	w, ok := viewOf(want, live[KeyOf(want)])
	if !ok {
		return true
	}
	updated := w.observed && !w.changing
	set, isSet := live[KeyOf(want)].(*appsv1.StatefulSet)
	if !isSet {
		return updated && w.updated >= w.replicas
	}
	pod, ok := live[Pods(want)[0]].(*corev1.Pod)
	if !ok {
		return updated && w.updated >= w.replicas
	}
	// Admission may have changed the images of the set, and the images of a pod.
	if updated && pod.Labels[appsv1.StatefulSetRevisionLabel] == set.Status.UpdateRevision {
		return true
	}
	return sameImages(half{object: want, template: *templateOf(want)}, half{object: set, template: set.Spec.Template}) &&
		sameVersion(set.Spec.Template, corev1.PodTemplateSpec{Spec: pod.Spec})
}
