package crds

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxFields is how many fields of a definition Unserved names.
const maxFields = 5

// openAPI is an OpenAPI document of a group and version, as far as it is about kinds.
type openAPI struct {
	Components struct {
		Schemas map[string]map[string]any `json:"schemas"`
	} `json:"components"`
}

// Unserved returns a line for each definition that an API server does not serve with all its fields, in the order of
// Definitions. The lines name the fields. The document is what the API server answers to
// /openapi/v3/apis/GROUP/VERSION, which takes no permission to read definitions; an empty one has no kinds. The mapper
// must know the kinds as well, since the API server updates discovery on its own. Additional fields are those of a newer
// definition, and no line is about them.
func (d Definitions) Unserved(document []byte, version schema.GroupVersion, mapper meta.RESTMapper) ([]string, error) {
	var parsed openAPI
	if len(document) > 0 {
		if err := json.Unmarshal(document, &parsed); err != nil {
			return nil, fmt.Errorf("parsing the OpenAPI document of %s: %w", version, err)
		}
	}
	var lines []string
	for _, definition := range d {
		missing, err := parsed.missing(definition, version, mapper)
		if err != nil {
			return nil, &DefinitionError{Name: definition.GetName(), Err: err}
		}
		if missing != "" {
			lines = append(lines, definition.GetName()+" "+missing)
		}
	}
	return lines, nil
}

// missing returns what is not served of a definition; empty if all is.
func (o *openAPI) missing(definition *unstructured.Unstructured, version schema.GroupVersion, mapper meta.RESTMapper) (string, error) {
	kind, err := kindOf(definition)
	if err != nil {
		return "", err
	}
	served := o.kind(kind.WithVersion(version.Version))
	if served == nil {
		return "is not served", nil
	}
	fields := missingFields("", served, schemas(definition)[version.Version])
	switch n := len(fields) - maxFields; {
	case n > 0:
		return fmt.Sprintf("lacks %s and %d more", strings.Join(fields[:maxFields], ", "), n), nil
	case len(fields) > 0:
		return "lacks " + strings.Join(fields, ", "), nil
	}
	_, err = mapper.RESTMapping(kind, version.Version)
	if meta.IsNoMatchError(err) {
		return "is not discovered yet", nil
	}
	return "", err
}

// kind returns the schema of a kind; nil if the document has none.
func (o *openAPI) kind(kind schema.GroupVersionKind) map[string]any {
	for _, found := range o.Components.Schemas {
		of, _ := found["x-kubernetes-group-version-kind"].([]any)
		for _, each := range of {
			if names, _ := each.(map[string]any); names["group"] == kind.Group && names["version"] == kind.Version && names["kind"] == kind.Kind {
				return found
			}
		}
	}
	return nil
}
