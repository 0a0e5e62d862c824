package component

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// workload is the part of a Deployment or StatefulSet that the state depends on.
type workload struct {
	name     string
	selector string
	// wanted is the desired number of replicas. It is the number in the live object if a
	// HorizontalPodAutoscaler controls it, or the API server stored another one than was applied.
	wanted int32
	// changing is true if the live object was written from another intent, scaling if only
	// its replicas are to change.
	changing, scaling bool
	// observed is true if the status below is about the current spec.
	observed                 bool
	replicas, updated, ready int32
	// stuck: the progress deadline was exceeded. refused: pods could not be created, because of the refusal.
	stuck, refused bool
	refusal        string
}

// viewOf returns the view of a workload, and false for other objects. The live object
// may be nil.
func viewOf(want, exists Resource) (workload, bool) {
	switch w := want.(type) {
	case *appsv1.Deployment:
		live, _ := exists.(*appsv1.Deployment)
		return viewOfDeployment(w, live), true
	case *appsv1.StatefulSet:
		live, _ := exists.(*appsv1.StatefulSet)
		return viewOfStatefulSet(w, live), true
	default:
		return workload{}, false
	}
}

func viewOfDeployment(want, live *appsv1.Deployment) workload {
	w := workload{name: describe(want), selector: metav1.FormatLabelSelector(want.Spec.Selector), wanted: valueOr(want.Spec.Replicas, 1)}
	if live == nil {
		return w
	}
	w.compare(
		half{want, want.Spec.Replicas, want.Spec.Template},
		half{live, live.Spec.Replicas, live.Spec.Template},
	)
	status := live.Status
	w.observed = status.ObservedGeneration >= live.Generation
	w.replicas, w.updated, w.ready = status.Replicas, status.UpdatedReplicas, status.AvailableReplicas
	for _, c := range status.Conditions {
		w.stuck = w.stuck || c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded"
		if RefusesPods(c) && !w.refused {
			w.refused, w.refusal = true, apierror.Refusal(c.Message)
		}
	}
	return w
}

// RefusesPods reports whether a condition of a Deployment says that the cluster rejects its pods or its
// ReplicaSet; the message says why.
func RefusesPods(c appsv1.DeploymentCondition) bool {
	return c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue ||
		c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == "ReplicaSetCreateError"
}

func viewOfStatefulSet(want, live *appsv1.StatefulSet) workload {
	w := workload{name: describe(want), selector: metav1.FormatLabelSelector(want.Spec.Selector), wanted: valueOr(want.Spec.Replicas, 1)}
	if live == nil {
		return w
	}
	w.compare(
		half{want, want.Spec.Replicas, want.Spec.Template},
		half{live, live.Spec.Replicas, live.Spec.Template},
	)
	if Immutable(want, live) != "" {
		w.changing, w.scaling = true, false
	}
	status := live.Status
	w.observed = status.ObservedGeneration >= live.Generation
	w.replicas, w.updated, w.ready = status.Replicas, status.UpdatedReplicas, status.ReadyReplicas
	if status.CurrentRevision == status.UpdateRevision {
		w.updated = w.replicas
	}
	return w
}

// half is one side of a comparison.
type half struct {
	object   Resource
	replicas *int32
	template corev1.PodTemplateSpec
}

// compare determines how the intent of the live object differs from the desired one. What else differs was
// changed by others, or by admission when it was written, which its status counts by: the number of pods
// is that of the live object, unless it has none.
func (w *workload) compare(want, live half) {
	w.changing = outdated(want.object, live.object)
	stored := valueOr(live.replicas, 1)
	if want.replicas == nil || !w.changing && stored > 0 && w.wanted > 0 {
		w.wanted = stored
	}
	w.scaling = w.changing && sameImages(want, live) && samePods(want, live) && !sameReplicas(want, live)
}

// sameVersion reports whether the desired containers run the same images. Containers that
// others added to the live object are ignored.
func sameVersion(want, live corev1.PodTemplateSpec) bool {
	images := ContainerImages(live)
	for container, image := range ContainerImages(want) {
		if images[container] != image {
			return false
		}
	}
	return true
}

// sameAnnotations reports whether the live pods have the desired annotations, such as the
// annotation of a restart.
func sameAnnotations(want, live corev1.PodTemplateSpec) bool {
	merged := maps.Clone(live.Annotations)
	if merged == nil {
		merged = make(map[string]string, len(want.Annotations))
	}
	maps.Copy(merged, want.Annotations)
	return maps.Equal(merged, live.Annotations) || len(merged) == 0
}

// valueOr returns the value of a pointer, or a default for nil.
func valueOr[T any](p *T, absent T) T {
	if p == nil {
		return absent
	}
	return *p
}
