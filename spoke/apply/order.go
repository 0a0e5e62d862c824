package apply

import (
	"fmt"
	"hash/fnv"

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

// orderOf returns a hash of what a fingerprint must cover and ownership does not: the order of the containers
// of a pod template and of their variables. Of a CronJob caches have the metadata alone, whose generation
// changes with each edit. It is 0 for other objects.
func orderOf(r component.Resource) uint64 {
	sum := fnv.New64a()
	write := func(text string) { _, _ = fmt.Fprintf(sum, "%q,", text) }
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
