package crds

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// served returns the OpenAPI document of a server that has a definition.
func served(t *testing.T, kind string, definition *unstructured.Unstructured) []byte {
	t.Helper()
	shop := schemas(definition)["v1"]
	shop["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": "example.com", "version": "v1", "kind": kind}}
	document, err := json.Marshal(map[string]any{"components": map[string]any{"schemas": map[string]any{
		"io.example.v1.Other": map[string]any{"type": "object"}, "com.example.v1." + kind: shop,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return document
}

func TestUnserved(t *testing.T) {
	t.Parallel()
	all := []string{"a", "b", "c", "d", "e", "f", "g"}
	for name, tt := range map[string]struct {
		document []byte
		unserved bool
		want     []string
	}{
		"all fields":     {document: served(t, "Shop", shops(all...))},
		"newer":          {document: served(t, "Shop", shops(append(all, "h")...))},
		"without one":    {document: served(t, "Shop", shops("a", "b", "d", "e", "f", "g")), want: []string{"shops.example.com lacks c"}},
		"without many":   {document: served(t, "Shop", shops()), want: []string{"shops.example.com lacks a, b, c, d, e and 2 more"}},
		"another kind":   {document: served(t, "Other", shops(all...)), want: []string{"shops.example.com is not served"}},
		"nothing at all": {want: []string{"shops.example.com is not served"}},
		"not discovered": {document: served(t, "Shop", shops(all...)), unserved: true, want: []string{"shops.example.com is not discovered yet"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mapper := (&cluster{unserved: tt.unserved}).RESTMapper()
			got, err := Definitions{shops(all...)}.Unserved(tt.document, schema.GroupVersion{Group: "example.com", Version: "v1"}, mapper)
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	if lines, err := (Definitions{shops()}).Unserved([]byte("404 page"), schema.GroupVersion{}, nil); err == nil {
		t.Errorf("an invalid document: %q and no error", lines)
	}
}
