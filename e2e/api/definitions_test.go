package api_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"
)

// TestDefinitionsAreValid validates the definitions as an API server does that has none of them yet, and so
// without one: each rule must fit the budget.
func TestDefinitionsAreValid(t *testing.T) {
	t.Parallel()
	for file, raw := range definitionFiles(t) {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(raw, definition); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		apiextensionsv1.SetDefaults_CustomResourceDefinition(definition)
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&definition.Spec)
		internal := &apiextensions.CustomResourceDefinition{}
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(definition, internal, nil); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		internal.Status.StoredVersions = []string{internal.Spec.Versions[0].Name}
		for _, fault := range validation.ValidateCustomResourceDefinition(t.Context(), internal) {
			t.Errorf("%s: %v", file, fault)
		}
	}
}

// TestRulesDoNotReadTheStatus fails on a rule outside of the status that reads it: what the API accepts of a spec would
// change without an edit, and with a status that is lost the rule would be gone.
func TestRulesDoNotReadTheStatus(t *testing.T) {
	reads := regexp.MustCompile(`\bstatus\b`)
	rules := 0
	for kind, schema := range schemas(t) {
		visit("", schema, func(path string, field apiextensionsv1.JSONSchemaProps) {
			for _, rule := range field.XValidations {
				rules++
				if inStatus := path == "status" || strings.HasPrefix(path, "status."); !inStatus && (reads.MatchString(rule.Rule) || reads.MatchString(rule.MessageExpression)) {
					t.Errorf("%s: a rule of %q reads the status: %s", kind, path, rule.Rule)
				}
			}
		})
	}
	if rules == 0 {
		t.Error("found no rule")
	}
}

// maxDefinition is the size of a definition as JSON. The annotation in which kubectl apply keeps it, unless it applies
// server-side, may have 262144 bytes together with the others.
const maxDefinition = 230_000

func TestDefinitionsAreSmall(t *testing.T) {
	t.Parallel()
	for file, raw := range definitionFiles(t) {
		encoded, err := yaml.YAMLToJSONStrict(raw)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		t.Logf("%s: %d bytes", filepath.Base(file), len(encoded))
		if len(encoded) > maxDefinition {
			t.Errorf("%s has %d bytes as JSON, want at most %d: shorten descriptions, or share less by embedding", file, len(encoded), maxDefinition)
		}
	}
}

// definitionFiles returns the content of each definition by the path of its file.
func definitionFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(definitions, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d definitions: %v", len(files), err)
	}
	found := make(map[string][]byte, len(files))
	for _, file := range files {
		if found[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return found
}
