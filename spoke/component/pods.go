package component

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// PrepareContainer is the name of the init container of a database's pods. It makes the data of
// the primary, and copies them to every other pod.
const PrepareContainer = "prepare"

// Pods returns the keys of a StatefulSet's pods, in order, and nil for other objects. The first
// is the primary of a database.
func Pods(r Resource) []Key {
	set, ok := r.(*appsv1.StatefulSet)
	if !ok {
		return nil
	}
	replicas := int(valueOr(set.Spec.Replicas, 1))
	keys := make([]Key, 0, replicas)
	for i := range replicas {
		keys = append(keys, Key{
			GroupKind: schema.GroupKind{Kind: "Pod"}, Namespace: set.Namespace, Name: fmt.Sprintf("%s-%d", set.Name, i),
		})
	}
	return keys
}

// copyingPod returns the name of the first pod of a component that copies the data of a primary
// that is ready; empty if there is none. A copy that began again made no progress.
func copyingPod(c Component, live Live) string {
	for _, object := range c.Objects {
		pods := Pods(object.Resource)
		if len(pods) < 2 {
			continue
		}
		if primary, ok := live[pods[0]].(*corev1.Pod); !ok || !IsReady(primary) {
			continue
		}
		for _, key := range pods[1:] {
			if pod, ok := live[key].(*corev1.Pod); ok && pod.DeletionTimestamp == nil && isPreparing(pod) {
				return pod.Name
			}
		}
	}
	return ""
}

// copies notes which pod copies the primary's data. The reason tells the next pass, unless one of
// a lower rank is reported.
func (s *State) copies(pod string, r rank) {
	s.Copying = true
	if r >= rankRolling {
		s.Reason, s.Message = v1.ReasonCopyingData, s.Message+"; pod "+pod+" copies the primary's data"
	}
}

// isPreparing reports whether the init container of a pod runs for the first time.
func isPreparing(pod *corev1.Pod) bool {
	for _, c := range pod.Status.InitContainerStatuses {
		if c.Name == PrepareContainer {
			return c.State.Running != nil && c.RestartCount == 0
		}
	}
	return false
}

// IsReady reports whether a pod is ready.
func IsReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func isPod(r Resource) bool {
	_, ok := r.(*corev1.Pod)
	return ok
}

// PrepareExit returns how the init container of a pod of a database ended last; -1 if that is not known,
// because it has not ended yet or the pod is being deleted.
func PrepareExit(pod *corev1.Pod) int32 {
	if pod == nil || pod.DeletionTimestamp != nil {
		return -1
	}
	for _, c := range pod.Status.InitContainerStatuses {
		if c.Name != PrepareContainer {
			continue
		}
		for _, ended := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
			if ended != nil {
				return ended.ExitCode
			}
		}
	}
	return -1
}
