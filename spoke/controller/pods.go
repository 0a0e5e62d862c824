package controller

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// databasePods returns the cache options of pods: of databases only, and without what no
// decision depends on. Pods are read, never written.
func (s slimmer) databasePods() cache.ByObject {
	return cache.ByObject{
		Label:     labels.SelectorFromSet(labels.Set{v1.ManagedByLabel: v1.ManagedBy, v1.ComponentLabel: database.Component}),
		Transform: s.pod,
	}
}

// pod removes from a pod all but its identity, owner, images and status. It is a cache transform, and
// returns objects of other types unchanged. The resource version stays, because informers ignore updates
// that do not change it.
func (s slimmer) pod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	slim := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			Labels: pod.Labels, OwnerReferences: pod.OwnerReferences,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
		},
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, PodIP: pod.Status.PodIP,
			InitContainerStatuses: slimContainers(pod.Status.InitContainerStatuses),
			ContainerStatuses:     slimContainers(pod.Status.ContainerStatuses),
		},
	}
	slim.Spec.InitContainers = s.containers(&slim.ObjectMeta, pod.Spec.InitContainers)
	slim.Spec.Containers = s.containers(&slim.ObjectMeta, pod.Spec.Containers)
	slim.Status.Conditions = s.podConditions(&slim.ObjectMeta, pod.Status.Conditions)
	s.share(slim)
	return slim, nil
}

// podConditions returns the types and statuses of conditions.
func (s slimmer) podConditions(user *metav1.ObjectMeta, all []corev1.PodCondition) []corev1.PodCondition {
	slim := make([]corev1.PodCondition, 0, len(all))
	for _, c := range all {
		slim = append(slim, corev1.PodCondition{Type: c.Type, Status: c.Status})
	}
	return shareList(s.shared, user, slim, func(c corev1.PodCondition) [2]string { return [2]string{string(c.Type), string(c.Status)} })
}

// slimContainers returns statuses of containers without images, volumes and resources.
func slimContainers(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	if all == nil {
		return nil
	}
	slim := make([]corev1.ContainerStatus, 0, len(all))
	for _, c := range all {
		slim = append(slim, corev1.ContainerStatus{
			Name: c.Name, State: c.State, LastTerminationState: c.LastTerminationState,
			Ready: c.Ready, RestartCount: c.RestartCount, Started: c.Started,
		})
	}
	return slim
}

// podChanged reports whether an update changed what the cache keeps of a pod.
func podChanged(before, after *corev1.Pod) bool {
	before = before.DeepCopy()
	before.ResourceVersion = after.ResourceVersion
	return !equality.Semantic.DeepEqual(before, after)
}
