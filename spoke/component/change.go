package component

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Change classifies a change of a component, for events.
type Change string

// The classes of changes. The first that applies is used.
const (
	// Unchanged means that the intent is the one that was last written; any difference was
	// made by others.
	Unchanged Change = ""
	// New means that no object of the component exists, apart from what is kept as it is, such as the
	// credentials of a database, which come first and may outlive it.
	New Change = "New"
	// ImageUpdated means different images, or a restart to pull the same ones again.
	ImageUpdated Change = "ImageUpdated"
	// Scaled means that only the number of replicas changed.
	Scaled Change = "Scaled"
	// Switched means that requests go to other pods, which are ready.
	Switched Change = "Switched"
	// ConfigurationUpdated means anything else.
	ConfigurationUpdated Change = "ConfigurationUpdated"
)

// Classify returns how a component changes by the writes of some of its objects; nil means all.
func Classify(c Component, live Live, written map[Key]bool) Change {
	var t tally
	pending := cutoverOf(c, live)
	for _, object := range c.Objects {
		have := pending.replaces(object.Resource, live)
		if isLeft(object, have, written) {
			t.exists = t.exists || have != nil && !object.Once
			continue
		}
		if have == nil || object.Once {
			// Other configuration is in a ConfigMap of another name.
			_, config := object.Resource.(*corev1.ConfigMap)
			t.configured = t.configured || config
			continue
		}
		t.exists = true
		if pending != nil && object.Resource == Resource(pending.service) {
			t.switched = !pending.waits
			continue
		}
		if !outdated(object.Resource, have) && !replaced(object.Resource, have) {
			continue
		}
		w, _ := viewOf(object.Resource, have)
		if rolled(object.Resource, have) {
			return ImageUpdated
		}
		t.scaled = t.scaled || w.scaling
		t.changed = t.changed || !w.scaling
	}
	return t.change()
}

// isLeft reports whether neither an object nor what it replaces is among those that are written; nil means all.
func isLeft(object Object, have Resource, written map[Key]bool) bool {
	return written != nil && !written[KeyOf(object.Resource)] && (have == nil || !written[KeyOf(have)])
}

// tally counts what changes of the objects of a component.
type tally struct{ exists, changed, scaled, configured, switched bool }

// change returns the change of the component.
func (t tally) change() Change {
	switch {
	case !t.exists:
		return New
	case t.changed, t.scaled && t.configured:
		return ConfigurationUpdated
	case t.scaled:
		return Scaled
	case t.switched:
		return Switched
	default:
		return Unchanged
	}
}

// rolled reports whether the pods of a workload are to be replaced because of images or a
// restart.
func rolled(want, live Resource) bool {
	w, l := templateOf(want), templateOf(live)
	if w == nil || l == nil {
		return false
	}
	to, from := half{object: want, template: *w}, half{object: live, template: *l}
	if _, ok := renderedOf(live); ok && samePods(to, from) {
		return !sameImages(to, from)
	}
	return !sameImages(to, from) || w.Annotations[v1.RestartedAtAnnotation] != l.Annotations[v1.RestartedAtAnnotation]
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
