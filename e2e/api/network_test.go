package api_test

import (
	"slices"
	"strings"
)

// networkCases test where pods may connect to, and who may connect to them.
func networkCases() []testCase {
	cases := []testCase{
		{name: "egress open", edits: edits{"spec.networkPolicy.egress": "Open"}},
		{name: "egress restricted", edits: edits{"spec.networkPolicy.egress": "Restricted"}},
	}
	return slices.Concat(cases, clientCases("spec.networkPolicy.databaseClients"), clientCases("spec.networkPolicy.backendClients"))
}

// clientCases test a list of pods that may connect, which is the same in each kind.
func clientCases(field string) []testCase {
	type m = map[string]any
	many := func(n int) []any {
		list := make([]any, n)
		for i := range list {
			list[i] = m{"podSelector": m{}}
		}
		return list
	}
	selector := func(requirement m) edits {
		return edits{field: []any{m{"podSelector": m{"matchExpressions": []any{requirement}}}}}
	}
	cases := []testCase{
		{name: "all pods", edits: edits{field: many(1)}},
		{name: "ten", edits: edits{field: many(10)}},
		{name: "pods in namespaces", edits: edits{field: []any{m{"podSelector": m{"matchLabels": m{"app": "reports"}}, "namespaces": []any{"erp", "bi"}}}}},
		{name: "pods by requirements", edits: selector(m{"key": "app", "operator": "In", "values": []any{"reports"}})},
		{name: "eleven", edits: edits{field: many(11)}, field: field, says: "Too many: 11: must have at most 10 items"},
		{name: "namespaces without pods", edits: edits{field: []any{m{"namespaces": []any{"erp"}}}}, field: field + "[0].podSelector", says: "Required value"},
		{name: "more than a number", edits: selector(m{"key": "app", "operator": "Gt", "values": []any{"1"}}), field: field + "[0].podSelector.matchExpressions", says: "matchExpressions must have the operators"},
		{name: "no values", edits: selector(m{"key": "app", "operator": "In"}), field: field + "[0].podSelector.matchExpressions[0].values", says: "values must be set with the operators In, NotIn, Gt and Lt, and be absent with Exists and DoesNotExist"},
		{name: "more than a word", edits: selector(m{"key": "app", "operator": "Gt", "values": []any{"many"}}), field: field + "[0].podSelector.matchExpressions[0].values", says: "values must be one whole number with the operators Gt and Lt", also: field + "[0].podSelector.matchExpressions"},
		{
			name: "long label", edits: edits{field: []any{m{"podSelector": m{"matchLabels": m{strings.Repeat("k", 318): "v"}}}}},
			field: field + "[0].podSelector.matchLabels", says: "matchLabels must have keys of at most 317 and values of at most 63 characters",
		},
		{name: "namespace twice", edits: edits{field: []any{m{"podSelector": m{}, "namespaces": []any{"a", "a"}}}}, field: field + "[0].namespaces[1]", says: "Duplicate value"},
		{name: "namespace without a name", edits: edits{field: []any{m{"podSelector": m{}, "namespaces": []any{""}}}}, field: field + "[0].namespaces[0]", says: "should be at least 1 chars long"},
	}
	for i := range cases {
		cases[i].name = field + " " + cases[i].name
	}
	return cases
}
