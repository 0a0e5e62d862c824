package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// value is a line of a chart's values.yaml that a user can set.
type value struct {
	// Path has the keys, with dots.
	Path string
	// Default is the value in values.yaml, as JSON.
	Default string
	// Text is the comment above it.
	Text string
}

// chartValues returns the values of a chart in the order of its values.yaml: everything but the groups.
func chartValues(t *testing.T, chart string) []value {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("charts", chart, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	return appendValues(t, nil, "", document.Content[0])
}

// appendValues appends the values below a group, whose path ends with a dot. A group is a mapping whose first key has a
// comment.
func appendValues(t *testing.T, values []value, path string, group *yaml.Node) []value {
	t.Helper()
	for i := 0; i+1 < len(group.Content); i += 2 {
		key, content := group.Content[i], group.Content[i+1]
		if content.Kind == yaml.MappingNode && len(content.Content) > 0 && content.Content[0].HeadComment != "" {
			values = appendValues(t, values, path+key.Value+".", content)
			continue
		}
		var set any
		if err := content.Decode(&set); err != nil {
			t.Fatal(err)
		}
		standard, err := json.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		// A comment of the file or of several groups stands before an empty line.
		paragraphs := strings.Split(key.HeadComment, "\n\n")
		text := strings.ReplaceAll(strings.TrimPrefix(paragraphs[len(paragraphs)-1], "# "), "\n# ", " ")
		values = append(values, value{Path: path + key.Value, Default: string(standard), Text: text})
	}
	return values
}

// TestChartsDescribeTheirValues checks that each value has a comment in values.yaml, that the schema knows it and says the
// same of it, and that the chart's page lists it. It writes schema and page when UPDATE_GOLDEN is set.
func TestChartsDescribeTheirValues(t *testing.T) {
	hub := chartValues(t, "shopfleet-hub")
	compareFile(t, "charts/shopfleet-hub/values.schema.json", describedSchema(t, hub))
	compareFile(t, "charts/shopfleet-spoke/values.schema.json", describedSchema(t, hub))
	for _, chart := range []string{"shopfleet-hub", "shopfleet-spoke"} {
		compareFile(t, filepath.Join("charts", chart, "README.md"), chartPage(t, chart))
	}
}

// compareFile compares a file with what it should contain, or writes that when UPDATE_GOLDEN is set.
func compareFile(t *testing.T, path, want string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s (-want +got); run make generate:\n%s", path, diff)
	}
}

// describedSchema returns the schema with the texts of values, which must be exactly those that it knows.
func describedSchema(t *testing.T, values []value) string {
	t.Helper()
	raw, err := os.ReadFile("charts/shopfleet-hub/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	schema := map[string]any{}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	known := map[string]map[string]any{}
	properties(schema, "", known)
	for _, v := range values {
		property, found := known[v.Path]
		if !found {
			t.Errorf("values.schema.json does not know %s", v.Path)
			continue
		}
		delete(known, v.Path)
		property["description"] = v.Text
		for path := range known {
			if strings.HasPrefix(path, v.Path+".") {
				delete(known, path)
			}
		}
	}
	delete(known, "global") // Helm sets it for charts within charts.
	if left := slices.Sorted(maps.Keys(known)); len(left) > 0 {
		t.Errorf("values.yaml lacks %v of the schema", left)
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(schema); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// properties adds what a schema says of each value to known, by path. A group is not a value.
func properties(schema map[string]any, path string, known map[string]map[string]any) {
	below, _ := schema["properties"].(map[string]any)
	for key, property := range below {
		property, _ := property.(map[string]any)
		properties(property, path+key+".", known)
		if _, group := property["properties"]; !group || key == "resources" {
			known[path+key] = property
		}
	}
}

// chartPage returns the page of a chart.
func chartPage(t *testing.T, chart string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("charts", chart, "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var about struct {
		Description string `yaml:"description"`
	}
	if err := yaml.Unmarshal(raw, &about); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Generated from values.yaml by make generate. DO NOT EDIT. -->\n\n# %s\n\n%s\n", chart, about.Description)
	fmt.Fprintf(&b, "[Installation](../../README.md#install) has the command, and other ways to install the same objects.\n\n")
	b.WriteString("| value | default | description |\n|---|---|---|\n")
	for _, v := range chartValues(t, chart) {
		if v.Text == "" {
			t.Errorf("%s/values.yaml: %s has no comment", chart, v.Path)
		}
		standard := cmp.Or(strings.Trim(v.Default, `"`), `""`)
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", v.Path, standard, strings.ReplaceAll(v.Text, "|", `\|`))
	}
	return b.String()
}
