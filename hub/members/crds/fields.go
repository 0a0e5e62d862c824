package crds

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// hasFields reports whether a definition has every field of every version of another one.
// Validation rules are not compared: the API server prunes unknown fields silently, but
// rejects invalid values with an error.
func hasFields(live, wanted *unstructured.Unstructured) bool {
	have := schemas(live)
	for version, schema := range schemas(wanted) {
		if has := have[version]; has == nil || len(missingFields("", has, schema)) > 0 {
			return false
		}
	}
	return true
}

// IsNewer reports whether a definition is newer than another one: it has all fields of that and more.
func IsNewer(live, than *unstructured.Unstructured) bool {
	return hasFields(live, than) && !hasFields(than, live)
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

// missingFields returns the paths of the fields of a schema that another one lacks, in order, for example
// "status.clusters[].phase". Of an object that is missing it returns the path alone.
func missingFields(path string, has, wants any) []string {
	known, ok := has.(map[string]any)
	if !ok {
		return []string{path}
	}
	schema, _ := wants.(map[string]any)
	fields, _ := known["properties"].(map[string]any)
	wanted, _ := schema["properties"].(map[string]any)
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		missing = append(missing, missingFields(strings.TrimPrefix(path+"."+name, "."), fields[name], wanted[name])...)
	}
	for _, nested := range []struct{ name, suffix string }{{"items", "[]"}, {"additionalProperties", ".*"}} {
		if of, ok := schema[nested.name].(map[string]any); ok {
			missing = append(missing, missingFields(path+nested.suffix, known[nested.name], of)...)
		}
	}
	return missing
}
