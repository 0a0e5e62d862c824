package spoke_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// fieldPath is the path of a field as managedFields have it: "f:" and a name, "k:" and the
// keys of a list item, "v:" and a value of a set.
type fieldPath []string

// String returns a path like spec.ports[80].name, with the values of the keys of items.
func (p fieldPath) String() string {
	var b strings.Builder
	for _, step := range p {
		kind, rest, _ := strings.Cut(step, ":")
		switch kind {
		case "f":
			switch {
			case b.Len() == 0:
				b.WriteString(rest)
			case strings.ContainsAny(rest, "./"):
				b.WriteString("[" + rest + "]")
			default:
				b.WriteString("." + rest)
			}
		case "k":
			keys := keysOf(step)
			var values []string
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				values = append(values, fmt.Sprint(keys[key]))
			}
			b.WriteString("[" + strings.Join(values, ",") + "]")
		default:
			b.WriteString("[" + rest + "]")
		}
	}
	return b.String()
}

// ownedPaths returns the paths of the fields that the spoke applied to an object, sorted. The
// keys of a list item are not among them, but the item is.
func ownedPaths(object *unstructured.Unstructured) ([]fieldPath, error) {
	for _, entry := range object.GetManagedFields() {
		if entry.Manager != v1.SpokeFieldManager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			return nil, fmt.Errorf("reading the fields of %s: %w", object.GetName(), err)
		}
		return leavesOf(fields, nil), nil
	}
	return nil, nil
}

func leavesOf(fields map[string]any, parent fieldPath) []fieldPath {
	var leaves []fieldPath
	var keys map[string]any
	if len(parent) > 0 {
		keys = keysOf(parent[len(parent)-1])
	}
	for _, step := range slices.Sorted(maps.Keys(fields)) {
		if name, isField := strings.CutPrefix(step, "f:"); isField && keys[name] != nil {
			continue
		}
		path := append(slices.Clone(parent), step)
		below, _ := fields[step].(map[string]any)
		_, exists := below["."]
		switch {
		case step == ".":
		case len(below) == 0 || len(below) == 1 && exists:
			leaves = append(leaves, path)
		default:
			if exists && strings.HasPrefix(step, "k:") {
				leaves = append(leaves, path)
			}
			leaves = append(leaves, leavesOf(below, path)...)
		}
	}
	return leaves
}

// keysOf returns the keys of a step to a list item; none for others.
func keysOf(step string) map[string]any {
	raw, is := strings.CutPrefix(step, "k:")
	if !is {
		return nil
	}
	var keys map[string]any
	if err := json.Unmarshal([]byte(raw), &keys); err != nil {
		return nil
	}
	return keys
}

// index returns the index of the item of a list that a step leads to, or -1.
func index(list []any, step string) int {
	keys := keysOf(step)
	return slices.IndexFunc(list, func(item any) bool {
		fields, isMap := item.(map[string]any)
		if !isMap || keys == nil {
			return strings.HasPrefix(step, "v:") && step == "v:"+encode(item)
		}
		for key, value := range keys {
			if encode(fields[key]) != encode(value) {
				return false
			}
		}
		return true
	})
}

func encode(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// lookup returns the value of a field, and nil if there is none.
func lookup(value any, path fieldPath) any {
	for _, step := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[strings.TrimPrefix(step, "f:")]
		case []any:
			i := index(v, step)
			if i < 0 {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// replace returns a value in which the field has another one; nil removes it. It changes maps and
// lists in place.
func replace(value any, path fieldPath, next any) any {
	if len(path) == 0 {
		return next
	}
	switch v := value.(type) {
	case map[string]any:
		name := strings.TrimPrefix(path[0], "f:")
		if v[name] = replace(v[name], path[1:], next); v[name] == nil {
			delete(v, name)
		}
		return v
	case []any:
		i := index(v, path[0])
		if i < 0 {
			return v
		}
		if v[i] = replace(v[i], path[1:], next); v[i] == nil {
			return slices.Delete(v, i, i+1)
		}
		return v
	default:
		return value
	}
}

// candidates returns other values for a field, the most likely valid first. The last is nil,
// which removes the field.
func candidates(name string, value any) []any {
	var others []any
	switch v := value.(type) {
	case nil: // The API server omits its zero value.
		others = map[string][]any{"paused": {true}, "minReadySeconds": {int64(1)}, "publishNotReadyAddresses": {true}, "externalName": {"evil.example.com"}}[name]
	case bool:
		others = []any{!v}
	case int64:
		others = []any{v + 1, v - 1}
	case string:
		others = otherTexts(name, v)
	case []any:
		others = otherLists(name, v)
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			for _, other := range candidates(key, v[key]) {
				changed := maps.Clone(v)
				if changed[key] = other; other == nil {
					delete(changed, key)
				}
				others = append(others, changed)
			}
		}
	}
	return slices.DeleteFunc(append(others, nil), func(other any) bool { return reflect.DeepEqual(other, value) })
}

// otherTexts returns other values of a text: those of the enumerations are tried by name.
func otherTexts(name, value string) []any {
	values := map[string][]string{
		"cpu": {"125m"}, "memory": {"300Mi"}, "sizeLimit": {"77Mi"}, "ephemeral-storage": {"77Mi"},
		"schedule": {"7 7 * * *"}, "timeZone": {"Asia/Tokyo"}, "concurrencyPolicy": {"Allow"}, "restartPolicy": {"Never", "OnFailure"},
		"pathType": {"Exact"}, "type": {"OnDelete", "NodePort", "Unconfined"}, "fieldPath": {"metadata.namespace"}, "protocol": {"UDP"},
		"fsGroupChangePolicy": {"Always"}, "unhealthyPodEvictionPolicy": {"IfHealthyBudget"}, "maxUnavailable": {"50%"}, "maxSurge": {"50%"},
		"whenDeleted": {"Delete"}, "whenScaled": {"Delete"}, "imagePullPolicy": {"Always"}, "kind": {"StatefulSet"},
		"apiVersion": {"apps/v1beta9"}, "operator": {"NotIn"}, "policyTypes": {"Egress"}, "internalTrafficPolicy": {"Local"}, "selectPolicy": {"Disabled"},
	}
	var others []any
	for _, other := range values[name] {
		others = append(others, other)
	}
	return append(others, value+"-edited", "edited", "ZWRpdGVk")
}

// otherLists returns other values of a list: with one item less, and with another first item.
func otherLists(name string, list []any) []any {
	var others []any
	if len(list) > 1 {
		others = append(others, slices.Clone(list[:len(list)-1]))
	}
	if len(list) > 0 {
		for _, other := range candidates(name, list[0]) {
			changed := slices.Clone(list)
			if changed[0] = other; other == nil {
				changed = changed[1:]
			}
			others = append(others, changed)
		}
	}
	return others
}
