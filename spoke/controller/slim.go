package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// isSlim reports whether the cache keeps of a child, which has its kind, no more than what decisions
// read, and the fingerprint of what was applied. Secrets are read, and claims grow.
func isSlim(child component.Resource) bool {
	switch child.GetObjectKind().GroupVersionKind().Kind {
	case "Deployment", "StatefulSet", "HorizontalPodAutoscaler", "CronJob", "ConfigMap",
		"Service", "ServiceAccount", "Ingress", "NetworkPolicy", "PodDisruptionBudget", "PrometheusRule":
		return true
	default:
		return false
	}
}

// slimmer holds the cache transforms of one cluster, which drop what no decision depends on and
// share what objects have in common. It is safe for concurrent use.
type slimmer struct {
	shared       *interner
	fingerprints *apply.Fingerprints
}

func newSlimmer() slimmer { return slimmer{newInterner(), apply.NewFingerprints()} }

// child removes from a child the fields that no decision depends on, and keeps the fingerprint of
// the fields that the spoke has applied. It is a cache transform, and returns other objects without
// managed fields.
func (s slimmer) child(object any) (any, error) {
	child, ok := object.(component.Resource)
	if !ok {
		return object, nil
	}
	switch o := object.(type) {
	case *appsv1.Deployment:
		s.fingerprints.Take(o, v1.SpokeFieldManager) // The order of its containers counts.
		o.Spec = appsv1.DeploymentSpec{Replicas: o.Spec.Replicas, Selector: o.Spec.Selector, Template: s.template(&o.ObjectMeta, o.Spec.Template)}
		o.Status.Conditions = s.conditions(&o.ObjectMeta, o.Status.Conditions)
	case *appsv1.StatefulSet:
		s.fingerprints.Take(o, v1.SpokeFieldManager)
		o.Spec = appsv1.StatefulSetSpec{
			Replicas: o.Spec.Replicas, Selector: o.Spec.Selector, ServiceName: o.Spec.ServiceName,
			PodManagementPolicy: o.Spec.PodManagementPolicy, VolumeClaimTemplates: o.Spec.VolumeClaimTemplates,
			Template: s.template(&o.ObjectMeta, o.Spec.Template),
		}
		o.Status.Conditions = nil
	case *autoscalingv2.HorizontalPodAutoscaler:
		inactive := component.InactiveAutoscaler(o)
		o.Spec, o.Status = autoscalingv2.HorizontalPodAutoscalerSpec{}, autoscalingv2.HorizontalPodAutoscalerStatus{}
		if inactive != nil {
			o.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{
				Type: inactive.Type, Status: inactive.Status, Reason: inactive.Reason, LastTransitionTime: inactive.LastTransitionTime,
			}}
		}
	case *corev1.ConfigMap:
		o.Data, o.BinaryData = nil, nil
	case *corev1.ServiceAccount:
		o.Secrets, o.ImagePullSecrets, o.AutomountServiceAccountToken = nil, nil, nil
	case *networkingv1.Ingress:
		o.Spec = networkingv1.IngressSpec{IngressClassName: o.Spec.IngressClassName}
	case *networkingv1.NetworkPolicy:
		o.Spec = networkingv1.NetworkPolicySpec{}
	case *policyv1.PodDisruptionBudget:
		o.Spec, o.Status = policyv1.PodDisruptionBudgetSpec{}, policyv1.PodDisruptionBudgetStatus{}
	case *corev1.Secret:
		if o.Labels[v1.PropagatedLabel] != "" {
			o.Data = nil // Nothing reads it from a cache, and each member has it.
		}
		return s.whole(object)
	case *metav1.PartialObjectMetadata: // It has no content.
	default:
		return s.whole(object)
	}
	s.fingerprints.Take(child, v1.SpokeFieldManager)
	child.SetAnnotations(annotations(child.GetAnnotations()))
	s.share(child)
	return object, nil
}

// annotations returns those that decisions read, apart from the hash.
func annotations(all map[string]string) map[string]string {
	if class, ok := all[component.LegacyIngressClass]; ok {
		return map[string]string{component.LegacyIngressClass: class}
	}
	return nil
}

// whole removes managed fields only. It is a cache transform.
func (s slimmer) whole(object any) (any, error) {
	if o, ok := object.(metav1.Object); ok {
		if o.GetManagedFields() != nil { // An untyped object may be in the cache already, and its map be read.
			o.SetManagedFields(nil)
		}
		s.share(o)
	}
	return object, nil
}

// share shares the metadata of an object that has a Go type, and the amounts of a claim or a copy.
func (s slimmer) share(object metav1.Object) {
	if typed, ok := object.(metav1.ObjectMetaAccessor); ok {
		if m, ok := typed.GetObjectMeta().(*metav1.ObjectMeta); ok {
			s.shared.metadata(m)
		}
	}
	switch o := object.(type) {
	case *corev1.PersistentVolumeClaim:
		s.claim(&o.ObjectMeta, o)
	case *appsv1.StatefulSet:
		for i := range o.Spec.VolumeClaimTemplates {
			s.claim(&o.ObjectMeta, &o.Spec.VolumeClaimTemplates[i])
		}
	case *v1.EcommerceApp:
		s.resources(&o.ObjectMeta, &o.Spec.Frontend.Resources)
		s.resources(&o.ObjectMeta, &o.Spec.Backend.Resources)
		if o.Spec.Database != nil {
			s.resources(&o.ObjectMeta, &o.Spec.Database.Resources)
		}
	}
}

func (s slimmer) resources(user *metav1.ObjectMeta, r *v1.Resources) {
	r.Requests = shareAmounts(s.shared, user, r.Requests)
	r.Limits = shareAmounts(s.shared, user, r.Limits)
}

func (s slimmer) claim(user *metav1.ObjectMeta, claim *corev1.PersistentVolumeClaim) {
	claim.Labels = s.shared.stringMap(user, claim.Labels)
	claim.Spec.Resources.Requests = shareAmounts(s.shared, user, claim.Spec.Resources.Requests)
	claim.Status.Capacity = shareAmounts(s.shared, user, claim.Status.Capacity)
}

// template keeps the images and annotations of a pod template.
func (s slimmer) template(user *metav1.ObjectMeta, t corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: t.Annotations},
		Spec: corev1.PodSpec{
			InitContainers: s.containers(user, t.Spec.InitContainers), Containers: s.containers(user, t.Spec.Containers),
		},
	}
}

// containers returns the names and images of containers.
func (s slimmer) containers(user *metav1.ObjectMeta, all []corev1.Container) []corev1.Container {
	if all == nil {
		return nil
	}
	slim := make([]corev1.Container, 0, len(all))
	for _, c := range all {
		slim = append(slim, corev1.Container{Name: c.Name, Image: c.Image})
	}
	return s.shared.containers(user, slim)
}

// conditions returns the conditions of a Deployment without times, and without messages but why pods are
// refused.
func (s slimmer) conditions(user *metav1.ObjectMeta, all []appsv1.DeploymentCondition) []appsv1.DeploymentCondition {
	slim := make([]appsv1.DeploymentCondition, 0, len(all))
	for _, c := range all {
		kept := appsv1.DeploymentCondition{Type: c.Type, Status: c.Status, Reason: c.Reason}
		if component.RefusesPods(c) {
			kept.Message = c.Message
		}
		slim = append(slim, kept)
	}
	return shareList(s.shared, user, slim, func(c appsv1.DeploymentCondition) [3]string {
		return [3]string{string(c.Status), c.Reason, c.Message}
	})
}
