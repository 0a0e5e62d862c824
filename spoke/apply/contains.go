package apply

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Contains reports whether a live object has every leaf of an intent with an equal value.
// Additional fields of the live object belong to others. Both are in unstructured form.
//
// Quantities are compared by amount. Lists with merge keys are matched by key, in any
// order unless it has a meaning; other lists must have the same length and equal items. Selectors must be equal.
// Other empty maps and lists in the intent match anything.
func Contains(live, intent map[string]any) bool {
	return containsMap(live, intent, "")
}

// contains compares two values of a field; parent is the name of the field that contains
// it.
func contains(live, intent any, field, parent string) bool {
	switch want := intent.(type) {
	case nil:
		return true
	case map[string]any:
		have, ok := live.(map[string]any)
		if !ok {
			return live == nil && len(want) == 0
		}
		return containsMap(have, want, field) && (!atomicMap(field) || containsMap(want, have, field))
	case []any:
		have, ok := live.([]any)
		if !ok {
			return live == nil && len(want) == 0
		}
		return containsList(have, want, field)
	case string:
		have, ok := live.(string)
		if !ok {
			// A quantity may be a number on one side and a string on the other.
			return isQuantity(field, parent) && equalQuantities(live, want)
		}
		return have == want || isQuantity(field, parent) && equalQuantities(have, want)
	default:
		return equalScalars(live, intent) || isQuantity(field, parent) && equalQuantities(live, intent)
	}
}

func containsMap(live, intent map[string]any, field string) bool {
	for key, want := range intent {
		if !contains(live[key], want, key, field) {
			return false
		}
	}
	return true
}

func containsList(live, intent []any, field string) bool {
	if len(intent) == 0 {
		return true
	}
	if setLists(field) && allStrings(live) && allStrings(intent) {
		for _, want := range intent {
			if !slices.Contains(live, want) {
				return false
			}
		}
		return true
	}
	keys := mergeKeys(field, intent)
	if keys == nil {
		return containsItems(live, intent, field)
	}
	for _, want := range intent {
		have := find(live, want, keys)
		if have == nil || !contains(have, want, field, "") {
			return false
		}
	}
	return !orderedLists(field) || inOrder(live, intent, keys)
}

// containsItems compares an atomic list.
func containsItems(live, intent []any, field string) bool {
	if len(live) != len(intent) {
		return false
	}
	for i := range intent {
		if !contains(live[i], intent[i], field, "") {
			return false
		}
	}
	return true
}

// mergeKeys returns the fields that identify an item of a list, or nil if the list is
// atomic. If there are several candidates, as for ports of containers and of Services,
// the first whose key all items have is used.
func mergeKeys(field string, items []any) []string {
	for _, keys := range mergeKeysOf(field) {
		if slices.IndexFunc(items, func(item any) bool {
			m, ok := item.(map[string]any)
			return !ok || m[keys[0]] == nil
		}) < 0 {
			return keys
		}
	}
	return nil
}

func mergeKeysOf(field string) [][]string {
	switch field {
	case "containers", "initContainers", "ephemeralContainers", "volumes", "env", "imagePullSecrets", "resourceClaims", "claims":
		return [][]string{{"name"}}
	case "ports":
		return [][]string{{"containerPort", "protocol"}, {"port", "protocol"}}
	case "volumeMounts":
		return [][]string{{"mountPath"}}
	case "volumeDevices":
		return [][]string{{"devicePath"}}
	case "hostAliases":
		return [][]string{{"ip"}}
	case "topologySpreadConstraints":
		return [][]string{{"topologyKey", "whenUnsatisfiable"}}
	case "ownerReferences":
		return [][]string{{"uid"}}
	default:
		return nil
	}
}

// atomicMap reports whether a map must be equal as a whole: an additional key changes
// what a selector selects.
func atomicMap(field string) bool {
	switch field {
	case "selector", "nodeSelector", "podSelector", "namespaceSelector", "labelSelector", "matchLabels":
		return true
	default:
		return false
	}
}

func setLists(field string) bool { return field == "finalizers" }

func allStrings(items []any) bool {
	return slices.IndexFunc(items, func(item any) bool { _, ok := item.(string); return !ok }) < 0
}

// find returns the item of a list with the same keys as want.
func find(items []any, want any, keys []string) any {
	if i := indexOf(items, want, keys); i >= 0 {
		return items[i]
	}
	return nil
}

// indexOf returns the index of the item of a list with the same keys as want, or -1.
func indexOf(items []any, want any, keys []string) int {
	wanted, _ := want.(map[string]any)
	return slices.IndexFunc(items, func(item any) bool {
		have, ok := item.(map[string]any)
		return ok && slices.IndexFunc(keys, func(key string) bool {
			return !equalScalars(keyOf(have, key), keyOf(wanted, key))
		}) < 0
	})
}

// keyOf returns the value of a key, or the API's default if it is absent.
func keyOf(item map[string]any, key string) any {
	if value, ok := item[key]; ok {
		return value
	}
	if key == "protocol" {
		return "TCP"
	}
	return nil
}

// equalScalars compares numbers by value, other scalars by equality.
func equalScalars(a, b any) bool {
	x, xInt := integer(a)
	y, yInt := integer(b)
	if xInt && yInt {
		return x == y
	}
	f, fOK := number(a)
	g, gOK := number(b)
	if fOK && gOK {
		return f == g
	}
	switch a.(type) {
	case nil, string, bool:
		return a == b
	default:
		return false
	}
}

func integer(value any) (int64, bool) {
	switch n := value.(type) {
	case int64:
		return n, true
	case int32:
		return int64(n), true
	case int:
		return int64(n), true
	default:
		return 0, false
	}
}

func number(value any) (float64, bool) {
	if n, ok := integer(value); ok {
		return float64(n), true
	}
	n, ok := value.(float64)
	return n, ok
}

// isQuantity reports whether the API defines the value of a field as a quantity.
func isQuantity(field, parent string) bool {
	switch parent {
	case "requests", "limits", "capacity", "hard", "overhead", "maxLimitRequestRatio":
		return true
	}
	switch field {
	case "sizeLimit", "averageValue", "divisor":
		return true
	}
	return false
}

func equalQuantities(a, b any) bool {
	x, xOK := quantity(a)
	y, yOK := quantity(b)
	return xOK && yOK && x.Cmp(y) == 0
}

func quantity(value any) (resource.Quantity, bool) {
	switch v := value.(type) {
	case string:
		q, err := resource.ParseQuantity(v)
		return q, err == nil
	default:
		n, ok := integer(value)
		return *resource.NewQuantity(n, resource.DecimalSI), ok
	}
}
