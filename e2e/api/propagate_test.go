package api_test

import (
	"strings"
)

// propagateCases test the objects that the hub copies along.
func propagateCases() []testCase {
	type m = map[string]any
	const field, first = "spec.propagate", "spec.propagate[0]"
	objects := func(n int) []any {
		var all []any
		for i := range n {
			all = append(all, m{"kind": "Secret", "name": numbered("registry", i)})
		}
		return all
	}
	secret := func(name string) edits { return edits{field: []any{m{"kind": "Secret", "name": name}}} }
	return []testCase{
		{name: "a Secret and a ConfigMap of one name", edits: edits{field: []any{m{"kind": "Secret", "name": "a"}, m{"kind": "ConfigMap", "name": "a"}}}},
		{name: "20 objects", edits: edits{field: objects(20)}},
		{name: "21 objects", edits: edits{field: objects(21)}, field: field, says: "must have at most 20 items"},
		{name: "an object twice", edits: edits{field: []any{m{"kind": "Secret", "name": "a"}, m{"kind": "Secret", "name": "a"}}}, field: field + "[1]", says: "Duplicate value"},
		{name: "a Service", edits: edits{field: []any{m{"kind": "Service", "name": "a"}}}, field: first + ".kind", says: "Unsupported value"},
		{name: "an object without kind", edits: edits{field: []any{m{"name": "a"}}}, field: first + ".kind", says: "Required value"},
		{name: "an object without name", edits: edits{field: []any{m{"kind": "Secret"}}}, field: first + ".name", says: "Required value"},
		{name: "an object with the longest name", edits: secret(strings.Repeat("a", 253))},
		{name: "an object with a long name", edits: secret(strings.Repeat("a", 254)), field: first + ".name", says: "may not be more than 253 bytes"},
		{name: "an object with an empty name", edits: secret(""), field: first + ".name", says: "should be at least 1 chars long"},
		{name: "an object with a comma in its name", edits: secret("a,b"), field: first + ".name", says: "should match '^"},
	}
}
