package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// isSlim reports whether the cache keeps of a child, which has its kind, no more than what decisions
// read, and the fingerprint of what was applied. Secrets are read, claims grow, and service accounts
// are small.
func isSlim(child component.Resource) bool {
	switch child.GetObjectKind().GroupVersionKind().Kind {
	case "Deployment", "StatefulSet", "HorizontalPodAutoscaler", "CronJob", "ConfigMap",
		"Service", "Ingress", "NetworkPolicy", "PodDisruptionBudget":
		return true
	default:
		return false
	}
}

// slimChild is a cache transform that drops of a child what no decision depends on, and keeps the
// fingerprint of what the spoke has applied. It returns other objects without managed fields.
func slimChild(object any) (any, error) {
	child, ok := object.(metav1.Object)
	if !ok {
		return object, nil
	}
	switch o := object.(type) {
	case *appsv1.Deployment:
		o.Spec = appsv1.DeploymentSpec{Replicas: o.Spec.Replicas, Selector: o.Spec.Selector, Template: slimTemplate(o.Spec.Template)}
	case *appsv1.StatefulSet:
		o.Spec = appsv1.StatefulSetSpec{
			Replicas: o.Spec.Replicas, Selector: o.Spec.Selector, ServiceName: o.Spec.ServiceName,
			PodManagementPolicy: o.Spec.PodManagementPolicy, VolumeClaimTemplates: o.Spec.VolumeClaimTemplates,
			Template: slimTemplate(o.Spec.Template),
		}
	case *autoscalingv2.HorizontalPodAutoscaler:
		o.Spec, o.Status = autoscalingv2.HorizontalPodAutoscalerSpec{}, autoscalingv2.HorizontalPodAutoscalerStatus{}
	case *batchv1.CronJob:
		o.Spec, o.Status = batchv1.CronJobSpec{}, batchv1.CronJobStatus{}
	case *corev1.ConfigMap:
		o.Data, o.BinaryData = nil, nil
	case *corev1.Service:
		o.Spec = corev1.ServiceSpec{}
	case *networkingv1.Ingress:
		o.Spec = networkingv1.IngressSpec{IngressClassName: o.Spec.IngressClassName}
	case *networkingv1.NetworkPolicy:
		o.Spec = networkingv1.NetworkPolicySpec{}
	case *policyv1.PodDisruptionBudget:
		o.Spec, o.Status = policyv1.PodDisruptionBudgetSpec{}, policyv1.PodDisruptionBudgetStatus{}
	default:
		child.SetManagedFields(nil)
		return object, nil
	}
	apply.TakeFingerprint(child, v1.SpokeFieldManager)
	return object, nil
}

// slimTemplate keeps the images and annotations of a pod template.
func slimTemplate(t corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: t.Annotations},
		Spec:       corev1.PodSpec{InitContainers: slimSpecs(t.Spec.InitContainers), Containers: slimSpecs(t.Spec.Containers)},
	}
}
