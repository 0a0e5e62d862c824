package api_test

import (
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func (s *server) testPlan(t *testing.T) {
	cases := []testCase{
		{name: "smallest", edits: edits{"spec": map[string]any{"manifest": "{}", "requester": map[string]any{"username": "admin"}}}},
	}
	for _, field := range []string{"spec", "spec.manifest", "spec.requester", "spec.requester.username"} {
		cases = append(cases, testCase{name: "no " + field, edits: edits{field: absent()}, field: field, says: "Required value"})
	}
	s.check(t, plans(), cases)
}

func (s *server) testPlanUpdates(t *testing.T) {
	k := plans()
	stored := s.create(t.Context(), t, k, edits{"metadata.namespace": "updates"})
	cases := []testCase{{name: "nothing"}, {name: "a label", edits: edits{"metadata.labels": map[string]any{"a": "b"}}}}
	for field, value := range map[string]any{
		"spec.manifest": "[]", "spec.requester.username": "other", "spec.requester.uid": "other", "spec.requester.groups": []any{"others"},
	} {
		cases = append(cases, testCase{
			name: "other " + field, edits: edits{field: value}, field: "spec", says: "spec cannot be changed: create another Plan",
		})
	}
	s.checkUpdates(t, k, stored, cases)
}

// testPlanStatus writes the largest status, and larger ones.
func (s *server) testPlanStatus(t *testing.T) {
	k := plans()
	plan := s.create(t.Context(), t, k, edits{"metadata.name": "bounds", "metadata.namespace": "status"})
	changed := func(n int) []v1.PlannedChange {
		all := make([]v1.PlannedChange, n)
		for i := range all {
			all[i] = v1.PlannedChange{Kind: "Service", Name: numbered("a", i), Action: v1.PlannedRefuse}
		}
		return all
	}
	planned := func(n int, changes ...v1.PlannedChange) map[string]any {
		all := make([]v1.PlannedCluster, n)
		for i := range all {
			all[i] = v1.PlannedCluster{Name: numbered("cluster", i), Decision: "Chosen", Move: v1.PlannedJoins}
		}
		all[0].Changes = changes
		return map[string]any{"clusters": all}
	}
	if err := s.patchStatus(t, k, plan, planned(200, changed(100)...)); err != nil {
		t.Errorf("200 clusters are refused: %v", err)
	}
	for _, test := range []struct {
		field, says string
		status      any
	}{
		{"status.rendering", "Too long: may not be more than 1024 bytes", map[string]any{"rendering": strings.Repeat("r", 1025)}},
		{"status.clusters", "Too many: 201: must have at most 200 items", planned(201)},
		{"status.clusters[0].changes", "Too many: 101: must have at most 100 items", planned(1, changed(101)...)},
		{"status.clusters[0].changes[0].action", "Unsupported value", planned(1, v1.PlannedChange{Kind: "Service", Name: "a", Action: "Patch"})},
		{
			"status.clusters[0].changes[0].message", "Too long: may not be more than 512 bytes",
			planned(1, v1.PlannedChange{Kind: "Service", Name: "a", Action: v1.PlannedRefuse, Message: strings.Repeat("m", 513)}),
		},
		{"status.problem", "Too long: may not be more than 1024 bytes", map[string]any{"problem": strings.Repeat("p", 1025)}},
		{"status.counts.changes.create", "should be greater than or equal to 0", map[string]any{"counts": map[string]any{"changes": map[string]any{"create": -1}}}},
	} {
		s.checkAnswer(t, k, testCase{field: test.field, says: test.says}, s.patchStatus(t, k, plan, test.status))
	}
}
