package component

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Change is what about a component is to change, in one word for people.
type Change string

// The changes, of which the first that holds is named.
const (
	// Unchanged means that the intent is the one that was written last; what
	// differs was changed by others.
	Unchanged Change = ""
	// New means that nothing of the component exists.
	New Change = "New"
	// ImageUpdated means other images, or a restart to pull the same ones anew.
	ImageUpdated Change = "ImageUpdated"
	// Scaled means another number of pods, and nothing else.
	Scaled Change = "Scaled"
	// ConfigurationUpdated means anything else.
	ConfigurationUpdated Change = "ConfigurationUpdated"
)

// Classify tells what about a component is to change.
func Classify(c Component, live Live) Change {
	exists, changed, scaled := false, false, false
	for _, object := range c.Objects {
		have := live[KeyOf(object.Resource)]
		if have == nil {
			continue
		}
		exists = true
		if object.Once || !outdated(object.Resource, have) && !replaced(object.Resource, have) {
			continue
		}
		w, _ := viewOf(object.Resource, have)
		if rolled(object.Resource, have) {
			return ImageUpdated
		}
		scaled = scaled || w.scaling
		changed = changed || !w.scaling
	}
	switch {
	case !exists:
		return New
	case changed:
		return ConfigurationUpdated
	case scaled:
		return Scaled
	default:
		return Unchanged
	}
}

// rolled tells whether a workload's pods are to run other images, or the same anew.
func rolled(want, live Resource) bool {
	w, l := templateOf(want), templateOf(live)
	return w != nil && l != nil &&
		(!sameVersion(*w, *l) || w.Annotations[v1.RestartedAtAnnotation] != l.Annotations[v1.RestartedAtAnnotation])
}

func templateOf(r Resource) *corev1.PodTemplateSpec {
	switch w := r.(type) {
	case *appsv1.Deployment:
		return &w.Spec.Template
	case *appsv1.StatefulSet:
		return &w.Spec.Template
	default:
		return nil
	}
}
