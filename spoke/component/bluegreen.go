package component

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// cutover is the change of a component from the pods of one template to the pods of another, all at once. A
// workload with the strategy BlueGreen has a Deployment for each template of its pods. The Deployment and
// the Service that selects its pods carry the hash of the template as a label, which caches keep.
type cutover struct {
	// next is the desired Deployment, and service the desired Service, which selects its pods.
	next    *appsv1.Deployment
	service *corev1.Service
	// serving is the live Deployment whose pods get the requests until the pods of next are ready.
	serving *appsv1.Deployment
	// waits is true until the pods of next may have the requests.
	waits bool
}

// cutoverOf returns the cutover of a component, and nil if there is none: the pods of the desired
// Deployment have the requests, or no others could.
func cutoverOf(c Component, live Live) *cutover {
	pending, desired := cutoverTo(c)
	if pending == nil {
		return nil
	}
	ready := false
	next, _ := live[KeyOf(pending.next)].(*appsv1.Deployment)
	if next != nil {
		facts, _ := observeObject(desired, next, live)
		ready = len(facts) == 0
	}
	service := live[KeyOf(pending.service)]
	switched := service != nil && templateHash(service) == templateHash(pending.next)
	if switched && ready {
		return nil
	}
	pending.serving = servingOf(pending.next, service, live)
	if pending.serving == nil {
		return nil
	}
	available := next != nil && next.Status.AvailableReplicas > 0
	pending.waits = !ready && (!available || pending.serving.Status.AvailableReplicas > 0)
	if next == nil || c.Stopped {
		pending.waits = true // Pods that are stopped prove nothing.
	}
	return pending
}

// cutoverTo returns the desired Deployment and Service of a cutover, and the Deployment as an object.
func cutoverTo(c Component) (*cutover, Object) {
	for _, object := range c.Objects {
		service, ok := object.Resource.(*corev1.Service)
		if !ok {
			continue
		}
		for _, other := range c.Objects {
			if d, ok := other.Resource.(*appsv1.Deployment); ok && maps.Equal(d.Spec.Selector.MatchLabels, service.Spec.Selector) {
				return &cutover{next: d, service: service}, other
			}
		}
	}
	return nil, Object{}
}

// servingOf returns the live Deployment that has the requests in place of the desired one: that whose pods
// the Service selects, or else the first by name that could have them.
func servingOf(next *appsv1.Deployment, service Resource, live Live) *appsv1.Deployment {
	var other *appsv1.Deployment
	for _, exists := range live {
		d, ok := exists.(*appsv1.Deployment)
		if !ok || d.DeletionTimestamp != nil || d.Name == next.Name || metav1.GetControllerOf(d) == nil ||
			d.Labels[v1.ComponentLabel] != next.Labels[v1.ComponentLabel] || d.Labels[v1.NameLabel] != next.Labels[v1.NameLabel] {
			continue
		}
		if service != nil && templateHash(service) == templateHash(d) {
			return d
		}
		if d.Status.AvailableReplicas > 0 && (other == nil || d.Name < other.Name) {
			other = d
		}
	}
	return other
}

// templateHash returns the hash of the template of the pods of a Deployment, or of those that a Service
// selects; empty unless the workload has the strategy BlueGreen.
func templateHash(r Resource) string { return r.GetLabels()[v1.PodTemplateLabel] }

// replaces returns the live object that a desired one changes or takes the place of; nil if there is none.
func (c *cutover) replaces(want Resource, live Live) Resource {
	if exists := live[KeyOf(want)]; exists != nil || c == nil || want != Resource(c.next) {
		return exists
	}
	return c.serving
}

// holds reports whether an object is the Service that must not be as desired yet: its pods are waited for.
func (c *cutover) holds(want Resource) bool {
	return c != nil && c.waits && want == Resource(c.service)
}

// count sets the numbers of a state, which are about the pods of the desired Deployment, to the serving pods.
func (c *cutover) count(state *State) {
	if c != nil {
		state.ReadyReplicas = min(c.serving.Status.AvailableReplicas, state.Replicas)
		state.Selector = metav1.FormatLabelSelector(c.serving.Spec.Selector)
	}
}

// intent returns what is to be written of an object now: a Service goes on selecting the pods that serve.
func (c *cutover) intent(object Object, live Live) Object {
	switch {
	case c == nil || !c.waits:
	case c.holds(object.Resource):
		object.Resource = c.waitingService(live[KeyOf(c.service)])
	case object.Resource == Resource(c.next) && c.next.Spec.Replicas == nil && live[KeyOf(c.next)] == nil:
		// An autoscaler scales it once it exists: until then it has as many pods as serve now.
		d := c.next.DeepCopy()
		d.Spec.Replicas = c.serving.Spec.Replicas
		object.Resource = d
	}
	return object
}

// waitingService returns the desired Service with the pods that serve now.
func (c *cutover) waitingService(exists Resource) *corev1.Service {
	service, hash := c.service.DeepCopy(), templateHash(c.serving)
	for _, labels := range []map[string]string{service.Labels, service.Spec.Selector} {
		delete(labels, v1.PodTemplateLabel)
		if hash != "" {
			labels[v1.PodTemplateLabel] = hash
		}
	}
	if exists != nil && templateHash(exists) == hash {
		// Nothing of it changes before its pods do: it is only repaired.
		keep(service.Labels, exists.GetLabels())
		keep(service.Annotations, exists.GetAnnotations())
		metav1.SetMetaDataAnnotation(&service.ObjectMeta, v1.SpecHashAnnotation, SpecHash(exists))
		return service
	}
	// The intent differs from the intent of the desired Service, so that this one does not count as desired.
	metav1.SetMetaDataAnnotation(&service.ObjectMeta, v1.SpecHashAnnotation, SpecHash(c.service)+"-"+hash)
	return service
}

// keep gives the keys that are desired the values that exist.
func keep(desired, exists map[string]string) {
	for key := range desired {
		if value, ok := exists[key]; ok {
			desired[key] = value
		}
	}
}

// scale returns the step that gives the pods that serve their desired number, and false if they have it.
func (c *cutover) scale(component string) (Step, bool) {
	if c == nil || !c.waits || c.next.Spec.Replicas == nil || valueOr(c.serving.Spec.Replicas, 1) == *c.next.Spec.Replicas {
		return Step{}, false
	}
	return Step{Action: Scale, Component: component, Target: c.serving, Replicas: *c.next.Spec.Replicas}, true
}

// keeps reports whether an object that is not desired is needed by the pods that serve.
func (c *cutover) keeps(exists Resource) bool {
	if c == nil || exists.GetLabels()[v1.ComponentLabel] != c.next.Labels[v1.ComponentLabel] {
		return false
	}
	if exists == Resource(c.serving) {
		return true
	}
	kind := exists.GetObjectKind().GroupVersionKind().Kind
	return kind == "ConfigMap" || kind == "PodDisruptionBudget" && templateHash(exists) == templateHash(c.serving)
}
