package component

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// HasStarted reports whether a pod of a component's StatefulSet is observed to have started with the present
// intent: the set was last written from it, and the container of a pod of its newest revision runs, or has run.
// The init container that prepares the data counts, too, because it may run the server. It returns false if
// nothing shows that, as after the pod was replaced by one that waits for its image: what was observed before is
// in the status.
func HasStarted(components []Component, live Live, name, container string) bool {
	i := slices.IndexFunc(components, func(c Component) bool { return c.Name == name })
	return i >= 0 && slices.ContainsFunc(components[i].Objects, func(object Object) bool {
		return hasStarted(object.Resource, live, container)
	})
}

func hasStarted(want Resource, live Live, container string) bool {
	set, ok := live[KeyOf(want)].(*appsv1.StatefulSet)
	if !ok || !current(want, set) {
		return false
	}
	// The newest revision may be of the intent before until the status is about this one.
	newest := set.Status.UpdateRevision
	if set.Status.ObservedGeneration < set.Generation || newest == "" {
		return false
	}
	return slices.ContainsFunc(Pods(set), func(key Key) bool {
		pod, ok := live[key].(*corev1.Pod)
		return ok && pod.Labels[appsv1.StatefulSetRevisionLabel] == newest && hasRun(pod, container)
	})
}

// hasRun reports whether a container of a pod, or the one that prepares its data, runs or has run.
func hasRun(pod *corev1.Pod, container string) bool {
	ran := func(name string) func(corev1.ContainerStatus) bool {
		return func(c corev1.ContainerStatus) bool {
			started := c.Started != nil && *c.Started
			return c.Name == name && (started || c.RestartCount > 0 || c.State.Running != nil ||
				c.State.Terminated != nil || c.LastTerminationState.Terminated != nil)
		}
	}
	return slices.ContainsFunc(pod.Status.ContainerStatuses, ran(container)) ||
		slices.ContainsFunc(pod.Status.InitContainerStatuses, ran(PrepareContainer))
}
