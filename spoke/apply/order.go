package apply

import (
	"context"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// orderedLists reports whether the order of a list with merge keys has a meaning: init containers run one
// after another, and a variable may use those before it. Ownership says nothing about it.
func orderedLists(field string) bool {
	switch field {
	case "containers", "initContainers", "env":
		return true
	default:
		return false
	}
}

// inOrder reports whether the items of a list that an intent has, too, are in the order of the intent.
func inOrder(live, intent []any, keys []string) bool {
	last := -1
	for _, want := range intent {
		i := indexOf(live, want, keys)
		if i < last {
			return false
		}
		last = i
	}
	return true
}

// reordered returns a value in which the items of lists are in the order of an intent; those that the intent
// does not have keep their place. It changes the value in place.
func reordered(live, intent any, field string) any {
	switch want := intent.(type) {
	case map[string]any:
		have, ok := live.(map[string]any)
		if !ok {
			return live
		}
		for key, below := range want {
			if value, exists := have[key]; exists {
				have[key] = reordered(value, below, key)
			}
		}
	case []any:
		have, ok := live.([]any)
		keys := mergeKeys(field, want)
		if !ok || keys == nil {
			return live
		}
		var places []int
		var items []any
		for _, item := range want {
			if i := indexOf(have, item, keys); i >= 0 {
				places, items = append(places, i), append(items, reordered(have[i], item, field))
			}
		}
		if orderedLists(field) {
			slices.Sort(places)
		}
		for i, place := range places {
			have[place] = items[i]
		}
	}
	return live
}

// putInOrder moves the items of lists of an object that was written to the places of the intent. An apply
// does so only if it changes something else. It returns the object as it is then stored.
func (a *Applier) putInOrder(ctx context.Context, written, intent *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	spec, ok := written.Object["spec"].(map[string]any)
	if !ok {
		return written, nil
	}
	sorted := written.DeepCopy()
	reordered(sorted.Object["spec"], intent.Object["spec"], "spec")
	if reflect.DeepEqual(spec, sorted.Object["spec"]) {
		return written, nil
	}
	body := &unstructured.Unstructured{}
	body.SetGroupVersionKind(written.GroupVersionKind())
	body.SetNamespace(written.GetNamespace())
	body.SetName(written.GetName())
	if err := a.merge(ctx, body, map[string]any{
		"metadata": map[string]any{"uid": string(written.GetUID()), "resourceVersion": written.GetResourceVersion()},
		"spec":     sorted.Object["spec"],
	}); err != nil {
		return nil, fmt.Errorf("restoring the order of lists of %s %q: %w", written.GetKind(), written.GetName(), err)
	}
	return body, nil
}

// orderOf returns a hash of what a fingerprint must cover and ownership does not: the order of the containers
// of a pod template and of their variables. Of a CronJob caches have the metadata alone, whose generation
// changes with each edit. It is 0 for other objects.
func orderOf(r component.Resource) uint64 {
	sum := fnv.New64a()
	write := func(text string) { fmt.Fprintf(sum, "%q,", text) }
	switch o := r.(type) {
	case *appsv1.Deployment:
		writeNames(o.Spec.Template.Spec, write)
	case *appsv1.StatefulSet:
		writeNames(o.Spec.Template.Spec, write)
	default:
		switch gvk := r.GetObjectKind().GroupVersionKind(); {
		case gvk.Group == appsv1.GroupName && (gvk.Kind == "Deployment" || gvk.Kind == "StatefulSet"):
			u, ok := r.(*unstructured.Unstructured)
			if !ok {
				return 0
			}
			writeUntyped(u, write)
		case gvk.Group == "batch" && gvk.Kind == "CronJob":
			write(fmt.Sprint(r.GetGeneration()))
		default:
			return 0
		}
	}
	return sum.Sum64()
}

func writeNames(pod corev1.PodSpec, write func(string)) {
	for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		write("")
		for _, c := range list {
			write(c.Name)
			for _, e := range c.Env {
				write(e.Name)
			}
			write("")
		}
	}
}

func writeUntyped(u *unstructured.Unstructured, write func(string)) {
	for _, field := range []string{"initContainers", "containers"} {
		list, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "template", "spec", field)
		write("")
		for _, c := range items(list) {
			write(nameOf(c))
			env, _, _ := unstructured.NestedFieldNoCopy(c, "env")
			for _, e := range items(env) {
				write(nameOf(e))
			}
			write("")
		}
	}
}

// items returns the items of a list of maps.
func items(list any) []map[string]any {
	all, _ := list.([]any)
	found := make([]map[string]any, 0, len(all))
	for _, item := range all {
		if m, ok := item.(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}

func nameOf(item map[string]any) string {
	name, _ := item["name"].(string)
	return name
}
