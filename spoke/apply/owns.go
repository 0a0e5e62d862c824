package apply

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// ownsAll reports whether the managed fields of a live object say that this applier owns every field
// of an intent. What it does not own may change without a trace in its fingerprint.
func (a *Applier) ownsAll(live, intent *unstructured.Unstructured) bool {
	entry := appliedBy(live.GetManagedFields(), a.manager)
	if entry == nil {
		return false
	}
	fields := appliedFields(entry)
	for key, value := range intent.Object {
		switch key {
		case "apiVersion", "kind":
		case "metadata":
			metadata, _ := value.(map[string]any)
			owned, _ := fields["f:metadata"].(map[string]any)
			for _, key := range []string{"labels", "annotations", "ownerReferences", "finalizers"} {
				if !ownsField(owned, key, metadata[key]) {
					return false
				}
			}
		default:
			if !ownsField(fields, key, value) {
				return false
			}
		}
	}
	return true
}

// ownsField reports whether managed fields contain a field with all that a value sets.
func ownsField(fields map[string]any, key string, value any) bool {
	if isEmpty(value) {
		return true
	}
	child, ok := fields["f:"+key].(map[string]any)
	return ok && owns(child, value)
}

// owns reports whether managed fields contain all that a value sets. Those without anything below
// them are of a leaf, which is owned as a whole.
func owns(fields map[string]any, value any) bool {
	if len(fields) == 0 {
		return true
	}
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			if !ownsField(fields, key, below) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !ownsItem(fields, item) {
				return false
			}
		}
	}
	return true
}

// ownsItem reports whether managed fields contain an item of a list.
func ownsItem(fields map[string]any, item any) bool {
	child := itemFields(fields, item)
	return child != nil && owns(child, item)
}

// hasKeys reports whether an item of a list has the values of its keys, where it has the keys.
func hasKeys(item, keys any) bool {
	have, isMap := item.(map[string]any)
	wanted, ok := keys.(map[string]any)
	if !isMap || !ok {
		return false
	}
	for key, value := range wanted {
		if own, set := have[key]; set && !equalScalars(own, value) {
			return false
		}
	}
	return true
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return false
	}
}
