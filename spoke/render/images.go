package render

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

// DefaultImages returns the images that pods have although no spec names them, nor a version of them.
func DefaultImages() []string { return []string{proxyImage} }

// Images returns the images of an application in a cluster, sorted, each once: those of its pods and, if it has a
// database, that of the spoke, for the Jobs that transfer dumps. The app is the copy of the cluster, in which overrides
// are applied. An error names the field of the spec that must change.
func Images(app *v1.EcommerceApp, spoke string) ([]string, error) {
	components, err := EcommerceApp(app, Cluster{})
	if err != nil {
		return nil, fmt.Errorf("rendering EcommerceApp %q: %w", app.Name, err)
	}
	images := map[string]bool{}
	for _, c := range components {
		for _, object := range c.Objects {
			for _, pod := range podTemplates(object.Resource) {
				for _, image := range component.ContainerImages(pod) {
					images[image] = true
				}
			}
		}
	}
	if app.Spec.Database != nil {
		images[objectparts.Image(app.Spec.ImageRegistry, spoke)] = true
	}
	return slices.Sorted(maps.Keys(images)), nil
}

// podTemplates returns the templates of all pods that an object leads to.
func podTemplates(r component.Resource) []corev1.PodTemplateSpec {
	switch o := r.(type) {
	case *appsv1.Deployment:
		return []corev1.PodTemplateSpec{o.Spec.Template}
	case *appsv1.StatefulSet:
		return []corev1.PodTemplateSpec{o.Spec.Template}
	case *batchv1.CronJob:
		return []corev1.PodTemplateSpec{o.Spec.JobTemplate.Spec.Template}
	default:
		return nil
	}
}
