package component

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Pods returns the keys of a StatefulSet's pods, in order, and nil for other objects.
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

func isPod(r Resource) bool {
	_, ok := r.(*corev1.Pod)
	return ok
}
