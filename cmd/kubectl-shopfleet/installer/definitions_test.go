package installer

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/shopfleet/shopfleet/config"
)

// definitionWith returns the CRD of Plans as a server has it, with other properties of its status.
func definitionWith(t *testing.T, edit func(properties map[string]any)) *unstructured.Unstructured {
	t.Helper()
	definition, err := config.Definition("ecommerce.io", "plans")
	if err != nil {
		t.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	version, ok := versions[0].(map[string]any)
	if !ok {
		t.Fatalf("version %v", versions[0])
	}
	path := []string{"schema", "openAPIV3Schema", "properties", "status", "properties"}
	properties, _, err := unstructured.NestedMap(version, path...)
	if err != nil {
		t.Fatal(err)
	}
	edit(properties)
	if err := unstructured.SetNestedMap(version, properties, path...); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	established := []any{map[string]any{"type": "Established", "status": "True"}}
	if err := unstructured.SetNestedSlice(definition.Object, established, "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	return definition
}

// TestNewerDefinitionsAreKept: a CRD with all fields of ours and more is not written, also in a dry run, and the result
// says so.
func TestNewerDefinitionsAreKept(t *testing.T) {
	t.Parallel()
	const name = "customresourcedefinition.apiextensions.k8s.io/plans.ecommerce.io "
	added := func(properties map[string]any) { properties["added"] = map[string]any{"type": "string"} }
	removed := func(properties map[string]any) { delete(properties, "conditions") }
	for test, tt := range map[string]struct {
		edit   func(map[string]any)
		dryRun bool
		writes int
		says   string
	}{
		"newer":            {added, false, 0, name + "kept (it is of a newer release)"},
		"newer, a dry run": {added, true, 0, name + "kept (it is of a newer release)"},
		"older":            {removed, false, 2, name + "configured"},
		"both":             {func(p map[string]any) { added(p); removed(p) }, false, 2, name + "configured"},
	} {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			writes := 0
			c := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithObjects(definitionWith(t, tt.edit)).WithInterceptorFuncs(interceptor.Funcs{
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					writes++
					return nil
				},
			}).Build()
			ours, err := config.Definition("ecommerce.io", "plans")
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			err = Plan{Objects: []*unstructured.Unstructured{ours}, DryRun: tt.dryRun}.Apply(t.Context(), c, func(done Result) error {
				said = append(said, done.String())
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tt.says}, said); diff != "" || writes != tt.writes {
				t.Errorf("%d writes, want %d; said (-want +got):\n%s", writes, tt.writes, diff)
			}
		})
	}
}
