package crds

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// hasFields reports whether a definition has every field of every version of another one.
// Validation rules are not compared: the API server prunes unknown fields silently, but
// rejects invalid values with an error.
func hasFields(live, wanted *unstructured.Unstructured) bool {
	have := schemas(live)
	for version, schema := range schemas(wanted) {
		if has := have[version]; has == nil || !covered(has, schema) {
			return false
		}
	}
	return true
}

// schemas returns the schemas of a definition by version.
func schemas(definition *unstructured.Unstructured) map[string]map[string]any {
	found := map[string]map[string]any{}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, each := range versions {
		version, _ := each.(map[string]any)
		name, _ := version["name"].(string)
		found[name], _, _ = unstructured.NestedMap(version, "schema", "openAPIV3Schema")
	}
	return found
}

// covered reports whether a schema has all fields of another.
func covered(has, wants map[string]any) bool {
	fields, _ := has["properties"].(map[string]any)
	wanted, _ := wants["properties"].(map[string]any)
	for name, schema := range wanted {
		if !within(fields[name], schema) {
			return false
		}
	}
	for _, nested := range []string{"items", "additionalProperties"} {
		if schema, ok := wants[nested].(map[string]any); ok && !within(has[nested], schema) {
			return false
		}
	}
	return true
}

func within(has, wants any) bool {
	known, ok := has.(map[string]any)
	if !ok {
		return false
	}
	wanted, ok := wants.(map[string]any)
	return !ok || covered(known, wanted)
}
