package api_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// schemas returns the schema of each kind from the definitions.
func schemas(t *testing.T) map[string]apiextensionsv1.JSONSchemaProps {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(definitions, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]apiextensionsv1.JSONSchemaProps{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(raw, definition); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, version := range definition.Spec.Versions {
			found[definition.Spec.Names.Kind] = *version.Schema.OpenAPIV3Schema
		}
	}
	if len(found) != len(kinds()) {
		t.Fatalf("found the schemas of %d kinds in %s, want %d", len(found), definitions, len(kinds()))
	}
	return found
}

// visit calls the function for the schema and every schema below it, with dotted paths.
// Items of lists end in [], values of maps in {}.
func visit(path string, schema apiextensionsv1.JSONSchemaProps, f func(string, apiextensionsv1.JSONSchemaProps)) {
	f(path, schema)
	for name, property := range schema.Properties {
		visit(strings.TrimPrefix(path+"."+name, "."), property, f)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		visit(path+"[]", *schema.Items.Schema, f)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		visit(path+"{}", *schema.AdditionalProperties.Schema, f)
	}
}

// foreign reports whether a path is below a type of Kubernetes. Rules on the field that
// holds such a type bound it.
func foreign(path string) bool {
	return strings.Contains(path, "conditions[]") || !strings.HasPrefix(path, "spec") && !strings.HasPrefix(path, "status")
}

// nested reports whether a path is below an affinity, whose lists in lists no case can set one by
// one, or of a list whose items need more than one field: envCases, envFromCases, podCases, testCriteria, testSpread,
// taintCases, overrideCases, rolloutCases, propagateCases and clientCases try them.
func nested(path string) bool {
	return slices.ContainsFunc([]string{
		".env[]", ".envFrom[]", ".tolerations[]", ".affinity.", ".clusterSelector.", ".placement.spread", ".placement.preferences",
		".placement.replicas.weights", "spec.taints", "spec.overrides", "spec.rollout.windows", "spec.propagate",
		"spec.networkPolicy.databaseClients", "spec.networkPolicy.backendClients", "spec.clients",
	}, func(part string) bool {
		return strings.Contains(path, part)
	})
}

// bounded lists fields that a rule bounds and the schema does not.
func bounded(path string) bool {
	switch path {
	case "spec.ingress.annotations{}", "spec.overrides[].ingress.annotations{}", "spec.monitoring.labels{}", "spec.database.resources.requests{}", "spec.database.resources.limits{}", "spec.storage.parameters{}", "spec.aws.keys{}", "status.allocatable",
		"status.allocatable{}", "status.requested", "status.requested{}", "spec.frontend.resources.requests{}", "spec.frontend.resources.limits{}",
		"spec.backend.resources.requests{}", "spec.backend.resources.limits{}":
		return true
	}
	for _, settings := range []string{".nodeSelector{}", ".serviceAccountAnnotations{}", ".podLabels{}", ".podAnnotations{}", ".matchLabels{}"} {
		if strings.HasSuffix(path, settings) {
			return true
		}
	}
	return false
}

// TestConventions checks the conventions of every field, without a server.
func TestConventions(t *testing.T) {
	for kind, schema := range schemas(t) {
		visit("", schema, func(path string, field apiextensionsv1.JSONSchemaProps) {
			if foreign(path) || bounded(path) {
				return
			}
			name := path[strings.LastIndex(path, ".")+1:]
			if !strings.HasSuffix(path, "]") && !strings.HasSuffix(path, "}") && !strings.HasPrefix(field.Description, name+" ") {
				t.Errorf("%s: the description of %s does not begin with its name: %q", kind, path, field.Description)
			}
			if fault := unbounded(field); fault != "" {
				t.Errorf("%s: %s is %s", kind, path, fault)
			}
		})
	}
}

func unbounded(field apiextensionsv1.JSONSchemaProps) string {
	switch {
	case field.Type == "string" && field.MaxLength == nil && len(field.Enum) == 0 && field.Format != "date-time":
		return "a string without maxLength"
	case field.Type == "array" && field.MaxItems == nil:
		return "a list without maxItems"
	case field.AdditionalProperties != nil && field.MaxProperties == nil:
		return "a map without maxProperties"
	case field.Type == "integer" && field.Minimum == nil:
		return "a number without minimum"
	}
	return ""
}

// testEveryRuleRefuses finds rules, patterns and required fields that no case violated.
func (s *server) testEveryRuleRefuses(t *testing.T) {
	for kind, schema := range schemas(t) {
		visit("", schema, func(path string, field apiextensionsv1.JSONSchemaProps) {
			for _, rule := range field.XValidations {
				if !s.hasRefused(kind, "", rule.Message) {
					t.Errorf("%s: no case breaks the rule of %q that says %q", kind, path, rule.Message)
				}
			}
			if !foreign(path) && !nested(path) && !strings.HasPrefix(path, "status") {
				s.checkTried(t, kind, path, field)
			}
		})
	}
}

// checkTried checks that a case violated the field's pattern, and that for each required
// field below it a case omitted it.
func (s *server) checkTried(t *testing.T, kind, path string, field apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	if field.Pattern != "" && !s.hasRefused(kind, item(strings.TrimSuffix(path, "{}")), "should match '"+field.Pattern) {
		t.Errorf("%s: no case breaks the pattern of %s", kind, path)
	}
	for _, required := range field.Required {
		if required := item(path + "." + required); !s.hasRefused(kind, required, "Required value") {
			t.Errorf("%s: no case leaves out %s", kind, required)
		}
	}
}

// hasRefused reports whether a fault of the field, or of any field, had the message.
func (s *server) hasRefused(kind, field, message string) bool {
	for refusal := range s.refused[kind] {
		if strings.HasPrefix(refusal, field) && strings.Contains(refusal, message) {
			return true
		}
	}
	return false
}
