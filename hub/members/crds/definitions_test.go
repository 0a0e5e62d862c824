package crds

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// cluster is a client of a cluster with one definition or none.
type cluster struct {
	client.Client
	live *unstructured.Unstructured
	// denied and refused are the errors of reads and of writes; nil if they succeed.
	denied, refused error
	unserved        bool
	writes          int
}

func (c *cluster) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	switch {
	case c.denied != nil:
		return c.denied
	case c.live == nil:
		return apierrors.NewNotFound(schema.GroupResource{}, "shops.example.com")
	}
	if whole, ok := object.(*unstructured.Unstructured); ok {
		whole.Object = runtime.DeepCopyJSON(c.live.Object)
		return nil
	}
	object.SetResourceVersion(c.live.GetResourceVersion())
	object.SetAnnotations(c.live.GetAnnotations())
	object.SetDeletionTimestamp(c.live.GetDeletionTimestamp())
	return nil
}

func (c *cluster) Apply(_ context.Context, intent runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	if c.refused != nil {
		return c.refused
	}
	c.writes++
	content := runtime.DeepCopyJSON(intent.(runtime.Unstructured).UnstructuredContent())
	c.live = &unstructured.Unstructured{Object: content}
	return unstructured.SetNestedSlice(content, []any{map[string]any{"type": "NamesAccepted", "status": "True"}, map[string]any{"type": "Established", "status": "True"}}, "status", "conditions")
}

// RESTMapper maps the kind once it is served.
func (c *cluster) RESTMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "example.com", Version: "v1"}})
	if !c.unserved {
		mapper.Add(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Shop"}, meta.RESTScopeNamespace)
	}
	return mapper
}

// shops returns a definition whose objects have some fields.
func shops(fields ...string) *unstructured.Unstructured {
	properties := map[string]any{}
	for _, field := range fields {
		properties[field] = map[string]any{"type": "string"}
	}
	version := map[string]any{"name": "v1", "schema": map[string]any{"openAPIV3Schema": map[string]any{"properties": properties}}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "shops.example.com"},
		"spec": map[string]any{"group": "example.com", "names": map[string]any{"kind": "Shop"}, "versions": []any{version}},
	}}
}

// installed returns a cluster with a definition that a hub has written.
func installed(t *testing.T, fields ...string) *cluster {
	t.Helper()
	c := &cluster{}
	if _, err := (Definitions{shops(fields...)}).Install(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	c.writes = 0
	c.live.SetResourceVersion("7")
	return c
}

// TestDefinitions: a definition is written if it differs and is not newer, and created by Install alone.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	names := []string{"shops.example.com"}
	type facts = DefinitionFacts
	for name, tt := range map[string]struct {
		cluster                  *cluster
		install, check, verified facts
		// written and checked are the writes of Install and of Check.
		written, checked int
	}{
		"absent":   {cluster: &cluster{}, check: facts{Absent: names}, verified: facts{Absent: names}, written: 1},
		"the same": {cluster: installed(t, "a")},
		"older":    {cluster: installed(t), verified: facts{Outdated: names}, written: 1, checked: 1},
		"newer":    {cluster: installed(t, "a", "b")},
		"deleting": {cluster: deleted(installed(t)), install: facts{Deleting: names}, check: facts{Deleting: names}, verified: facts{Deleting: names}},
		"edited":   {cluster: unmarked(installed(t, "a")), written: 1, checked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			required := Definitions{shops("a")}
			before := *tt.cluster
			for step, test := range map[string]struct {
				facts  facts
				writes int
				run    func(*cluster) (facts, error)
			}{
				"install": {tt.install, tt.written, func(c *cluster) (facts, error) { return required.Install(t.Context(), c) }},
				"check":   {tt.check, tt.checked, func(c *cluster) (facts, error) { return required.Check(t.Context(), c) }},
				"verify":  {tt.verified, 0, func(c *cluster) (facts, error) { return required.Verify(t.Context(), c) }},
			} {
				c := before
				got, err := test.run(&c)
				if diff := cmp.Diff(test.facts, got); err != nil || diff != "" || c.writes != test.writes {
					t.Errorf("%s: %d writes, want %d; %v (-want +got):\n%s", step, c.writes, test.writes, err, diff)
				}
				if c.writes > 0 && before.live != nil && c.live.GetResourceVersion() != before.live.GetResourceVersion() {
					t.Errorf("%s: written over version %q", step, c.live.GetResourceVersion())
				}
			}
		})
	}
}

func deleted(c *cluster) *cluster {
	c.live.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
	return c
}

func unmarked(c *cluster) *cluster {
	c.live.SetAnnotations(map[string]string{v1.SpecHashAnnotation: "other"})
	return c
}

// TestDefinitionErrors: an error names the definition, and what is not served in time is one.
func TestDefinitionErrors(t *testing.T) {
	t.Parallel()
	cause := errors.New("refused")
	unestablished := installed(t, "a")
	unstructured.RemoveNestedField(unestablished.live.Object, "status")
	for name, test := range map[string]struct {
		cluster *cluster
		want    error
	}{
		"not read":        {&cluster{denied: cause}, cause},
		"not written":     {&cluster{refused: cause}, cause},
		"not served":      {&cluster{unserved: true}, context.DeadlineExceeded},
		"not established": {unestablished, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			_, err := Definitions{shops("a")}.Install(ctx, test.cluster)
			if of, ok := errors.AsType[*DefinitionError](err); !ok || of.Name != "shops.example.com" || !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if _, err := (Definitions{shops("a")}).Verify(t.Context(), test.cluster); (test.cluster.denied != nil) != errors.Is(err, cause) {
				t.Errorf("verifying: %v", err)
			}
		})
	}
}
