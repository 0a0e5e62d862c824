package api_test

import (
	"maps"
	"slices"
	"strings"
)

// rolloutCases test rollouts.
func rolloutCases() []testCase {
	type m = map[string]any
	const field, windows = "spec.rollout", "spec.rollout.windows"
	window := m{"schedule": "0 2 * * 1-5", "duration": "4h", "timeZone": "Europe/Dublin"}
	cases := []testCase{
		{name: "a rollout with defaults", edits: edits{field: m{}}},
		{name: "every field of a rollout", edits: edits{field: m{
			"strategy": "Progressive", "order": []any{"eu-west-1", "us-central1"}, "maxConcurrentClusters": int64(2), "soak": "0s",
			"progressDeadline": "168h", "onFailure": "Pause", "approval": "BetweenRegions", "windows": []any{window},
		}}},
		{name: "most windows", edits: edits{windows: slices.Repeat([]any{window}, 10)}},
		{name: "too many windows", edits: edits{windows: slices.Repeat([]any{window}, 11)}, field: windows, says: "must have at most 10 items"},
	}
	for name, c := range map[string]struct {
		value any
		says  string
	}{
		"schedule":  {"0 2 * * mon", "should match '^[0-9*/,-]+"},
		"schedule ": {strings.Repeat("0", 121) + " 2 * * *", "may not be more than 128 bytes"},
		"duration":  {"30s", "duration must be a duration of 1m to 168h"},
		"duration ": {"168h1s", "duration must be a duration of 1m to 168h"},
		"timeZone":  {"UTC+1 ", "should match '^[A-Za-z]"},
	} {
		changed := maps.Clone(window)
		changed[strings.TrimSpace(name)] = c.value
		cases = append(cases, testCase{
			name: "a window with a bad " + name, edits: edits{windows: []any{changed}}, field: windows + "[0]." + strings.TrimSpace(name), says: c.says,
		})
	}
	for _, value := range []string{"", "1d", "-1h", "169h"} {
		cases = append(cases,
			testCase{name: "soak " + value, edits: edits{field + ".soak": value}, field: field + ".soak", says: "soak must be a duration of at most 168h"},
			testCase{name: "deadline " + value, edits: edits{field + ".progressDeadline": value}, field: field + ".progressDeadline", says: "progressDeadline must be a duration of 1s to 168h"})
	}
	return append(cases, testCase{
		name: "no deadline", edits: edits{field + ".progressDeadline": "0s"}, field: field + ".progressDeadline", says: "progressDeadline must be a duration of 1s to 168h",
	})
}
