package apply

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// setZeros sets the fields of a spec whose other values stop or redirect an application, and which neither a
// Go type nor the API server writes where they are zero. In an intent they are owned then, and in a live
// object the absence of one is the same value.
func setZeros(r component.Resource, content map[string]any) {
	spec, ok := content["spec"].(map[string]any)
	if !ok {
		return
	}
	for field, zero := range zerosOf(r) {
		if _, set := spec[field]; !set {
			spec[field] = zero
		}
	}
}

func zerosOf(r component.Resource) map[string]any {
	gvk := r.GetObjectKind().GroupVersionKind()
	is := func(group, kind string) bool { return gvk.Group == group && gvk.Kind == kind }
	_, deployment := r.(*appsv1.Deployment)
	_, set := r.(*appsv1.StatefulSet)
	_, service := r.(*corev1.Service)
	switch {
	case deployment, is(appsv1.GroupName, "Deployment"):
		return map[string]any{"paused": false, "minReadySeconds": int64(0)}
	case set, is(appsv1.GroupName, "StatefulSet"):
		return map[string]any{"minReadySeconds": int64(0)}
	case service, is(corev1.GroupName, "Service"):
		return map[string]any{"publishNotReadyAddresses": false, "externalName": ""}
	default:
		return nil
	}
}
