package crdschema

import (
	"encoding/json"
	"os"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// Schema validates the status of a kind. It is safe for concurrent use.
type Schema struct {
	validator  validation.SchemaValidator
	structural *structuralschema.Structural
}

// OfStatus returns the schema of the status in a file with a CustomResourceDefinition.
func OfStatus(t testing.TB, file string) Schema {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(raw, definition); err != nil {
		t.Fatal(err)
	}
	all := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(definition.Spec.Versions[0].Schema.OpenAPIV3Schema, all, nil); err != nil {
		t.Fatal(err)
	}
	status := all.Properties["status"]
	validator, _, err := validation.NewSchemaValidator(&status)
	if err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(&status)
	if err != nil {
		t.Fatal(err)
	}
	return Schema{validator, structural}
}

// Validate returns what the API server would refuse of a status.
func (s Schema) Validate(t testing.TB, status any) error {
	t.Helper()
	raw, err := json.Marshal(status)
	if err != nil {
		return err
	}
	var value map[string]any
	if err := utiljson.Unmarshal(raw, &value); err != nil {
		t.Fatal(err)
	}
	path := field.NewPath("status")
	errs := validation.ValidateCustomResource(path, value, s.validator)
	return append(errs, listtype.ValidateListSetsAndMaps(path, s.structural, value)...).ToAggregate()
}
