package api_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// criteriaFields returns the edits that set one of the fields that select clusters, which all take the same criteria.
func criteriaFields() map[string]func(map[string]any) edits {
	type m = map[string]any
	return map[string]func(m) edits{
		"spec.placement": func(by m) edits { return edits{"spec.placement": by} },
		"spec.placement.preferences[0].selector": func(by m) edits {
			return edits{"spec.placement.preferences[]": m{"weight": int64(1), "selector": by}}
		},
		"spec.placement.replicas.weights[0].selector": func(by m) edits {
			return edits{"spec.placement.replicas": m{"mode": "Divided", "weights": []any{m{"weight": int64(1), "selector": by}}}}
		},
		"spec.overrides[0].selector": func(by m) edits { return edits{"spec.overrides[]": m{"selector": by}} },
	}
}

// testCriteria sends the rules of everything that selects clusters: they are the same everywhere.
func (s *server) testCriteria(t *testing.T) {
	for field, set := range criteriaFields() {
		t.Run(field, func(t *testing.T) {
			s.check(t, ecommerceApps(), slices.Concat(criteriaCases(field, set), clusterLabelCases(field+".clusterSelector", func(selector map[string]any) edits {
				return set(map[string]any{"clusterSelector": selector})
			})))
		})
	}
}

// criteriaCases test names, regions and providers.
func criteriaCases(path string, set func(map[string]any) edits) []testCase {
	type m = map[string]any
	list := func(n int) []any {
		var all []any
		for i := range n {
			all = append(all, numbered("item", i))
		}
		return all
	}
	refuse := func(name, says string, value any) testCase {
		at, _, _ := strings.Cut(name, " ")
		field := path + "." + at
		if items, isList := value.([]any); isList && len(items) <= 2 {
			field += "[" + strconv.Itoa(len(items)-1) + "]"
		}
		return testCase{name: name, edits: set(m{at: value}), field: field, says: says}
	}
	tooMany := refuse("providers of more than there are", "must have at most 4 items", []any{"aws", "gcp", "azure", "other", "aws"})
	tooMany.also = path + ".providers[4]"
	return []testCase{
		{name: "everything", edits: set(m{
			"clusterSelector": m{"matchLabels": m{"tier": "gold"}, "matchExpressions": []any{m{"key": "k", "operator": "In", "values": []any{"v"}}}},
			"clusterNames":    []any{"eu-1"}, "regions": []any{"eu-west-1"}, "providers": []any{"aws", "gcp", "azure", "other"},
		})},
		{name: "nothing", edits: set(m{})},
		{name: "the most", edits: set(m{"clusterNames": list(500), "regions": list(100)})},
		refuse("clusterNames too many", "must have at most 500 items", list(501)),
		refuse("clusterNames twice", "Duplicate value", []any{"a", "a"}),
		refuse("clusterNames empty", "should be at least 1 chars long", []any{""}),
		refuse("clusterNames long", "may not be more than 63", []any{strings.Repeat("c", 64)}),
		refuse("regions too many", "must have at most 100 items", list(101)),
		refuse("regions twice", "Duplicate value", []any{"a", "a"}),
		refuse("regions empty", "should be at least 1 chars long", []any{""}),
		refuse("regions long", "may not be more than 63", []any{strings.Repeat("r", 64)}),
		refuse("providers twice", "Duplicate value", []any{"aws", "aws"}),
		refuse("providers unknown", "Unsupported value", []any{"ibm"}),
		tooMany,
	}
}

// clusterLabelCases test selectors by label.
func clusterLabelCases(path string, set func(map[string]any) edits) []testCase {
	type m = map[string]any
	labels := func(n int, key, value string) edits {
		all := m{}
		for i := range n {
			all[numbered(key, i)] = value
		}
		return set(m{"matchLabels": all})
	}
	expression := func(key, operator string, values ...any) edits {
		e := m{"key": key, "operator": operator}
		if values != nil {
			e["values"] = values
		}
		return set(m{"matchExpressions": []any{e}})
	}
	many := func(n int) []any { return slices.Repeat([]any{"v"}, n) }
	expressions := func(n int) edits {
		return set(m{"matchExpressions": slices.Repeat([]any{m{"key": "k", "operator": "Exists"}}, n)})
	}
	const longLabels = "matchLabels must have keys of at most 317 and values of at most 63 characters"
	const valued = "values must be set with the operators In and NotIn, and be absent with Exists and DoesNotExist"
	inLabels, inExpressions := path+".matchLabels", path+".matchExpressions"
	first := inExpressions + "[0]"
	return []testCase{
		{name: "empty selector", edits: set(m{})},
		{name: "50 labels", edits: labels(50, "key", strings.Repeat("v", 63))},
		{name: "longest label key", edits: labels(1, strings.Repeat("k", 317), "v")},
		{name: "51 labels", edits: labels(51, "key", "v"), field: inLabels, says: "must have at most 50 items"},
		{name: "long label key", edits: labels(1, strings.Repeat("k", 318), "v"), field: inLabels, says: longLabels},
		{name: "long label value", edits: labels(1, "k", strings.Repeat("v", 64)), field: inLabels, says: longLabels},
		{name: "50 expressions", edits: expressions(50)},
		{name: "51 expressions", edits: expressions(51), field: inExpressions, says: "must have at most 50 items"},
		{name: "100 values", edits: expression("k", "In", many(100)...)},
		{name: "101 values", edits: expression("k", "In", many(101)...), field: first + ".values", says: "must have at most 100 items"},
		{name: "long value", edits: expression("k", "In", strings.Repeat("v", 64)), field: first + ".values[0]", says: "may not be more than 63"},
		{name: "empty key", edits: expression("", "Exists"), field: first + ".key", says: "should be at least 1 chars long"},
		{name: "long key", edits: expression(strings.Repeat("k", 318), "Exists"), field: first + ".key", says: "may not be more than 317"},
		{name: "In", edits: expression("k", "In", "v")},
		{name: "NotIn", edits: expression("k", "NotIn", "v")},
		{name: "Exists", edits: expression("k", "Exists")},
		{name: "DoesNotExist", edits: expression("k", "DoesNotExist")},
		{name: "In without values", edits: expression("k", "In"), field: first + ".values", says: valued},
		{name: "Exists with values", edits: expression("k", "Exists", "v"), field: first + ".values", says: valued},
		{name: "an operator of nodes", edits: expression("k", "Gt", "1"), field: first + ".operator", says: "Unsupported value"},
	}
}
