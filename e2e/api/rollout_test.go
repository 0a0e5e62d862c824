package api_test

import (
	"slices"
	"strings"
)

// windows is the field of the windows of a rollout.
const windows = "spec.rollout.windows"

// window sets one window of a rollout, with a value in place of one of its fields.
func window(field string, value any) edits {
	changed := map[string]any{"schedule": "0 2 * * 1-5", "duration": "4h", "timeZone": "Europe/Dublin"}
	if field != "" {
		changed[field] = value
	}
	return edits{windows: []any{changed}}
}

// rolloutCases test rollouts.
func rolloutCases() []testCase {
	type m = map[string]any
	const field = "spec.rollout"
	given := window("", nil)[windows].([]any)
	cases := []testCase{
		{name: "a rollout with defaults", edits: edits{field: m{}}},
		{name: "every field of a rollout", edits: edits{field: m{
			"strategy": "Progressive", "order": []any{"eu-west-1", "us-central1"}, "maxConcurrentClusters": int64(2), "soak": "0s",
			"progressDeadline": "168h", "onFailure": "Pause", "approval": "BetweenRegions", "windows": given,
		}}},
		{name: "most windows", edits: edits{windows: slices.Repeat(given, 10)}},
		{name: "too many windows", edits: edits{windows: slices.Repeat(given, 11)}, field: windows, says: "must have at most 10 items"},
	}
	cases = append(cases, zoneCases(windows+"[0].timeZone", func(zone any) edits { return window("timeZone", zone) })...)
	for _, c := range []struct{ name, value, says string }{
		{"schedule", strings.Repeat("0", 121) + " 2 * * *", "may not be more than 128 bytes"},
		{"duration", "30s", "duration must be a duration of 1m to 168h"},
		{"duration", "168h1s", "duration must be a duration of 1m to 168h"},
		{"timeZone", strings.Repeat("A", 65), "may not be more than 64 bytes"},
	} {
		cases = append(cases, testCase{
			name: "a window with a bad " + c.name, edits: window(c.name, c.value), field: windows + "[0]." + c.name, says: c.says,
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
