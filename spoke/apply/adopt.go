package apply

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// adopt reports whether a live object is adopted now. An object that is neither owned nor
// to be adopted by its annotation is a *ConflictError.
func adopt(live component.Resource, intent *unstructured.Unstructured, owned func(component.Resource) bool) (bool, error) {
	if owned(live) {
		return false, nil
	}
	content, err := contentOf(live)
	if err != nil {
		return false, err
	}
	key, differences := component.KeyOf(intent), Differences(content, intent.Object)
	if err = Adopt(live, key, differences); err == nil && live.GetDeletionTimestamp() != nil {
		err = &ConflictError{Key: key, Differences: differences}
	}
	return err == nil, err
}

// Adopt returns nil if the annotation of a live object lets it be adopted, although it is not owned and differs from its
// intent in some fields. Otherwise it returns a *ConflictError.
func Adopt(live component.Resource, intent component.Key, differences []string) error {
	conflict := &ConflictError{Key: intent, Differences: differences}
	if controller := metav1.GetControllerOf(live); controller != nil {
		conflict.Controller, conflict.Differences = controller.Kind, nil
		return conflict
	}
	policy := v1.AdoptPolicy(live.GetAnnotations()[v1.AdoptAnnotation])
	if policy == v1.AdoptAlways || policy == v1.AdoptIfNoDiff && len(differences) == 0 {
		return nil
	}
	return conflict
}

// Differences returns the paths of the fields that an intent sets and that a live object
// lacks or has with another value, sorted, without values. Both are in unstructured form.
// Metadata is not compared. A list without merge keys is one field.
func Differences(live, intent map[string]any) []string {
	return pathsOf(fieldDifferences(live, intent))
}

// difference is a field that an intent sets and that a live object lacks or has with another
// value.
type difference struct {
	path string
	// live is nil if the object lacks the field.
	live, intent any
}

// pathsOf returns the sorted paths of differences.
func pathsOf(all []difference) []string {
	if len(all) == 0 {
		return nil
	}
	paths := make([]string, 0, len(all))
	for _, d := range all {
		paths = append(paths, d.path)
	}
	slices.Sort(paths)
	return paths
}

// fieldDifferences returns the differences outside of metadata, in any order.
func fieldDifferences(live, intent map[string]any) []difference {
	var all []difference
	for key, want := range intent {
		switch key {
		case "apiVersion", "kind", "metadata":
		default:
			all = append(all, differences(live[key], want, key, "", key)...)
		}
	}
	return all
}

// differences compares two values of a field; parent is the name of the field that contains
// it, and path where both are.
func differences(live, intent any, field, parent, path string) []difference {
	if contains(live, intent, field, parent) {
		return nil
	}
	if found := itemDifferences(live, intent, field, path); len(found) > 0 {
		return found
	}
	have, ok := live.(map[string]any)
	want, both := intent.(map[string]any)
	if !ok || !both || atomicMap(field) {
		return []difference{{path, live, intent}}
	}
	var found []difference
	for _, key := range slices.Sorted(maps.Keys(want)) {
		below := path + "." + key
		if strings.Contains(key, ".") {
			below = path + "[" + key + "]"
		}
		found = append(found, differences(have[key], want[key], key, field, below)...)
	}
	return found
}

// itemDifferences compares the items of two lists with merge keys; nothing is returned for
// other values.
func itemDifferences(live, intent any, field, path string) []difference {
	have, ok := live.([]any)
	want, both := intent.([]any)
	keys := mergeKeys(field, want)
	if !ok || !both || keys == nil {
		return nil
	}
	var all []difference
	for _, item := range want {
		identity, _ := item.(map[string]any)
		below := fmt.Sprintf("%s[%v]", path, identity[keys[0]])
		if found := find(have, item, keys); found != nil {
			all = append(all, differences(found, item, field, "", below)...)
		} else {
			all = append(all, difference{path: below, intent: item})
		}
	}
	return all
}
