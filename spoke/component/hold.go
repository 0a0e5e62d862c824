package component

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Rendering says which version of pod templates was rendered, and whether workloads may have it.
type Rendering struct {
	// Version is the version that was rendered. It has neither dots nor spaces. Without one nothing is held.
	Version string
	// Released is true if pods may be replaced because the version differs, one component after the other.
	Released bool
	// Observed is true if the last status is about the present spec, and the spec is in effect: what workloads have that
	// name no inputs was rendered from it.
	Observed bool
	// OwnerUID is the UID of the application.
	OwnerUID types.UID
}

// Hold returns components whose workloads keep the live pod template where the one that was rendered differs for no
// other reason than the version: the part of the spec that it is rendered from is the same. It also returns the names
// of the components that have such workloads. A released version goes to one component after the other, each when
// those before serve with it alone; one without a pod that serves has nothing to wait for.
func Hold(components []Component, live Live, r Rendering) ([]Component, []string) {
	ordered, err := Order(components)
	if err != nil || r.Version == "" {
		return components, nil // Decide reports the error.
	}
	held, turn := map[string]Component{}, r.Released
	var names []string
	for _, c := range ordered {
		if c.Disabled {
			continue
		}
		ready, serves := podsOf(c, live)
		next, holds := hold(c, live, r)
		if holds && !turn && (serves || !r.Released) {
			held[c.Name], names = next, append(names, c.Name)
			continue
		}
		turn = turn && ready && !holds // One that is written now is waited for.
	}
	out := slices.Clone(components)
	for i := range out {
		if next, holds := held[out[i].Name]; holds {
			out[i] = next
		}
	}
	return out, names
}

// podsOf reports whether the workloads of a component serve with no pod of an earlier template, and whether any pod is
// ready. A replica that waits or copies data, and a volume that grows, are not waited for.
func podsOf(c Component, live Live) (ready, serves bool) {
	ready = true
	for _, object := range c.Objects {
		exists := live[KeyOf(object.Resource)]
		if exists == nil {
			exists = otherColor(c, object.Resource, live)
		}
		if w, ok := viewOf(object.Resource, exists); ok {
			ready = ready && isReplaced(object.Resource, exists, live)
			serves = serves || w.ready > 0
		}
	}
	return ready, serves
}

// isReplaced reports whether a workload serves, and has no pod of an earlier template.
func isReplaced(want, exists Resource, live Live) bool {
	w, _ := viewOf(keepTemplates(want, exists, claimsToGrow(want, live)), exists)
	if exists == nil || !w.observed || w.changing || w.updated < w.replicas {
		return false
	}
	if _, isSet := want.(*appsv1.StatefulSet); isSet {
		return unavailableReason(want, nil, live) == ""
	}
	return w.ready > 0 || w.wanted == 0
}

// hold returns a component with the live templates of its workloads that were written by another version from the same
// part of the spec, and whether there is one.
func hold(c Component, live Live, r Rendering) (Component, bool) {
	objects, holds := slices.Clone(c.Objects), false
	for i, object := range c.Objects {
		exists := live[KeyOf(object.Resource)]
		if exists == nil {
			exists = otherColor(c, object.Resource, live)
		}
		if exists == nil || exists.GetDeletionTimestamp() != nil || !ControlledBy(exists, r.OwnerUID) {
			continue
		}
		was, keeps := keptOf(object, exists, r)
		if !keeps {
			continue
		}
		holds = true
		if name := exists.GetName(); name != object.Resource.GetName() {
			recolor(objects, templateHash(object.Resource), templateHash(exists), name)
			objects[i].Kept = was
		} else {
			objects[i].Kept, objects[i].Instead = was, object.Resource
		}
		objects[i].Resource = withTemplate(objects[i].Resource, templateOf(exists))
	}
	c.Objects = objects
	return c, holds
}

// keptOf returns what was rendered of a live workload whose template is to stay, and false if it is not.
func keptOf(object Object, exists Resource, r Rendering) (*rendered, bool) {
	template := templateOf(exists)
	if object.Inputs == "" || template == nil {
		return nil, false
	}
	was, known := renderedOf(exists)
	want := *templateOf(object.Resource)
	annotated := was.annotations == annotationsHash(want) || was.annotations == mapHash(scraped(want.Annotations, template.Annotations))
	if !known { // Annotations of others are theirs.
		was, annotated = rendered{images: imagesHash(*template), annotations: annotationsHash(*template)}, sameAnnotations(want, *template)
	}
	switch {
	case was.version == r.Version:
		return nil, false
	case was.inputs == "": // It was written before inputs were noted.
		was.inputs = object.Inputs
		return &was, r.Observed && annotated
	default:
		return &was, was.inputs == object.Inputs
	}
}

// scraped returns the annotations of pods with those by which live ones are scraped: earlier releases set them there, and
// without them pods are not edited.
func scraped(want, live map[string]string) map[string]string {
	both := maps.Clone(live)
	maps.DeleteFunc(both, func(key, _ string) bool { return !strings.HasPrefix(key, "prometheus.io/") })
	if both == nil {
		return want
	}
	maps.Copy(both, want)
	return both
}

// otherColor returns the live Deployment that has the requests of a workload with the strategy BlueGreen, in place of the
// desired one that does not exist; nil for other objects.
func otherColor(c Component, want Resource, live Live) Resource {
	pending, _ := cutoverTo(c)
	if pending == nil || want != Resource(pending.next) || templateHash(pending.next) == "" {
		return nil
	}
	if serving := servingOf(pending.next, live[KeyOf(pending.service)], live); serving != nil && templateHash(serving) != "" {
		return serving
	}
	return nil
}

// recolor gives the objects of a workload with the strategy BlueGreen the hash of another template, in copies of them.
func recolor(objects []Object, from, to, name string) {
	for i := range objects {
		var labels []map[string]string
		switch o := objects[i].Resource.(type) {
		case *appsv1.Deployment:
			kept := o.DeepCopy()
			kept.Name, labels = name, []map[string]string{kept.Labels, kept.Spec.Selector.MatchLabels, kept.Spec.Template.Labels}
			objects[i].Resource = kept
		case *corev1.Service:
			kept := o.DeepCopy()
			labels, objects[i].Resource = []map[string]string{kept.Labels, kept.Spec.Selector}, kept
		case *policyv1.PodDisruptionBudget:
			kept := o.DeepCopy()
			kept.Name = strings.TrimSuffix(kept.Name, from) + to
			labels, objects[i].Resource = []map[string]string{kept.Labels}, kept
			if kept.Spec.Selector != nil {
				labels = append(labels, kept.Spec.Selector.MatchLabels)
			}
		}
		for _, set := range labels {
			if set[v1.PodTemplateLabel] == from {
				set[v1.PodTemplateLabel] = to
			}
		}
	}
}

// withTemplate returns a copy of a workload with another pod template.
func withTemplate(r Resource, template *corev1.PodTemplateSpec) Resource {
	switch w := r.(type) {
	case *appsv1.Deployment:
		kept := w.DeepCopy()
		kept.Spec.Template = *template.DeepCopy()
		return kept
	case *appsv1.StatefulSet:
		kept := w.DeepCopy()
		kept.Spec.Template = *template.DeepCopy()
		return kept
	default:
		return r
	}
}

// keepStored returns a StatefulSet whose pod template stays with the fields that cannot change as they are: another set
// would have another template.
func keepStored(want, live *appsv1.StatefulSet) *appsv1.StatefulSet {
	kept := keepFixed(want, live)
	noted, _ := renderedOf(want)
	was, _ := renderedOf(live)
	noted.fixed = was.fixed // The set is yet to be replaced.
	noted.record(kept)
	return kept
}

// setsOf returns two objects as StatefulSets; nil if they are none.
func setsOf(want, exists Resource) (set, live *appsv1.StatefulSet) {
	set, isSet := want.(*appsv1.StatefulSet)
	live, exist := exists.(*appsv1.StatefulSet)
	if !isSet || !exist {
		return nil, nil
	}
	return set, live
}

// KeepsTemplate reports whether the object is a workload whose live pod template stays: that of its Resource is no more
// than what a cache has of it.
func (o Object) KeepsTemplate() bool { return o.Kept != nil }

// isNamed reports whether a live object may be named by a pod template that stays: a component with such a workload keeps
// what its pods read and run as.
func (p *planner) isNamed(exists Resource) bool {
	switch exists.GetObjectKind().GroupVersionKind().Kind {
	case "ConfigMap", "Secret", "ServiceAccount":
	default:
		return false
	}
	return slices.ContainsFunc(p.in.Components, func(c Component) bool {
		return c.Name == exists.GetLabels()[v1.ComponentLabel] && slices.ContainsFunc(c.Objects, Object.KeepsTemplate)
	})
}
