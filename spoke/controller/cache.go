package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// CacheOptions returns the options of a cluster's cache: of the kinds of children
// only what carries our label, without their content, of pods only those of databases, and nothing
// of managed fields but the fingerprints of what was applied. Objects of one cache share what they
// have in common, so that each cache needs options of its own.
func CacheOptions(kinds ...AnyKind) cache.Options {
	slim := newSlimmer()
	byObject := make(map[client.Object]cache.ByObject)
	for _, child := range childrenOf(kinds) {
		byObject[child] = cache.ByObject{Label: ours(), Transform: slim.child}
	}
	byObject[&corev1.Pod{}] = slim.databasePods()
	return cache.Options{ByObject: byObject, DefaultTransform: slim.whole, NewInformer: NewInformer}
}

// NewTransform returns a transform for a cache of applications that has no children: without managed
// fields, and what is equal in several objects is shared. Each cache needs its own.
func NewTransform() toolscache.TransformFunc { return newSlimmer().whole }

// WatchedObjects returns one object of each kind that a cluster's cache must have
// synced before the cluster is engaged: the kinds themselves, their children, and pods.
func WatchedObjects(kinds ...AnyKind) []client.Object {
	watched := observedOf(kinds)
	for _, kind := range kinds {
		watched = append(watched, kind.Object())
	}
	return watched
}

// ours selects what Shopfleet writes.
func ours() labels.Selector {
	return labels.SelectorFromSet(labels.Set{v1.ManagedByLabel: v1.ManagedBy})
}

// observedOf returns one object of each kind that wakes a reconciler: children, and pods.
func observedOf(kinds []AnyKind) []client.Object {
	return append(childrenOf(kinds), &corev1.Pod{})
}

func childrenOf(kinds []AnyKind) []client.Object {
	all := children()
	for _, kind := range kinds {
		all = append(all, kind.Children()...)
	}
	return all
}

// children returns the kinds of objects that every kind may have.
func children() []client.Object {
	return []client.Object{
		&appsv1.Deployment{},
		&appsv1.StatefulSet{},
		&autoscalingv2.HorizontalPodAutoscaler{},
		metadataOf(batchv1.SchemeGroupVersion.WithKind("CronJob")),
		&corev1.ConfigMap{},
		&corev1.PersistentVolumeClaim{},
		&corev1.Secret{},
		metadataOf(corev1.SchemeGroupVersion.WithKind("Service")),
		&corev1.ServiceAccount{},
		&networkingv1.Ingress{},
		&networkingv1.NetworkPolicy{},
		&policyv1.PodDisruptionBudget{},
	}
}

// metadataOf returns an object of a kind whose metadata alone is cached, because its type is large even
// without content. Such a watch costs one more goroutine, so it is not used for all kinds.
func metadataOf(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(gvk)
	return object
}
