package crds

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/shopfleet/shopfleet/config"
)

func TestKnows(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	// definition makes one with a version and the properties of its spec.
	definition := func(version string, spec m) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: m{"spec": m{"versions": []any{m{
			"name": version, "schema": m{"openAPIV3Schema": m{"properties": m{"spec": m{"properties": spec}}}},
		}}}}}
	}
	text := m{"type": "string"}
	list := func(properties m) m { return m{"items": m{"properties": properties}} }
	named := func(properties m) m { return m{"additionalProperties": m{"properties": properties}} }
	tests := map[string]struct {
		live, wanted *unstructured.Unstructured
		want         bool
		missing      []string
	}{
		"the same":               {definition("v1", m{"a": text}), definition("v1", m{"a": text}), true, nil},
		"newer":                  {definition("v1", m{"a": text, "b": text}), definition("v1", m{"a": text}), true, nil},
		"older":                  {definition("v1", m{"a": text}), definition("v1", m{"a": text, "b": text}), false, []string{"spec.b"}},
		"of another version":     {definition("v2", m{"a": text}), definition("v1", m{"a": text}), false, nil},
		"stricter about a value": {definition("v1", m{"a": m{"type": "string", "maxLength": int64(1)}}), definition("v1", m{"a": text}), true, nil},
		"older within a list":    {definition("v1", m{"a": list(m{"b": text})}), definition("v1", m{"a": list(m{"b": text, "c": text})}), false, []string{"spec.a[].c"}},
		"newer within a list":    {definition("v1", m{"a": list(m{"b": text, "c": text})}), definition("v1", m{"a": list(m{"b": text})}), true, nil},
		"older within a map":     {definition("v1", m{"a": named(m{})}), definition("v1", m{"a": named(m{"b": text})}), false, []string{"spec.a.*.b"}},
		"nothing at all":         {&unstructured.Unstructured{Object: m{}}, definition("v1", m{"a": text}), false, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := hasFields(tt.live, tt.wanted); got != tt.want {
				t.Errorf("knows: %t, want %t", got, tt.want)
			}
			if live := schemas(tt.live)["v1"]; live != nil {
				if diff := cmp.Diff(tt.missing, missingFields("", live, schemas(tt.wanted)["v1"])); diff != "" {
					t.Errorf("missing (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestTheDefinitionKnowsItself(t *testing.T) {
	t.Parallel()
	definition, err := config.Definition("ecommerce.io", "ecommerceapps")
	if err != nil {
		t.Fatal(err)
	}
	older := definition.DeepCopy()
	version := older.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	unstructured.RemoveNestedField(version, "schema", "openAPIV3Schema", "properties", "spec", "properties", "database", "properties", "storage")
	if !hasFields(definition, definition) || hasFields(older, definition) || !hasFields(definition, older) {
		t.Error("an older definition counts as current, or a current one as old")
	}
}
