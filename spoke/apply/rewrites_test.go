package apply

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestRewrites checks which differences between an intent and the answer of the API server are known later.
func TestRewrites(t *testing.T) {
	t.Parallel()
	deployment := func(spec string, notes ...string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": decode(t, spec)}}
		u.SetAPIVersion("apps/v1")
		u.SetKind("Deployment")
		u.SetName("web")
		annotations := map[string]string{v1.SpecHashAnnotation: "1", v1.RenderedAnnotation: "a.b.c.d"}
		for _, note := range notes {
			delete(annotations, note)
		}
		u.SetAnnotations(annotations)
		return u
	}
	secret := func(value string) *unstructured.Unstructured {
		u := deployment(`{}`)
		u.SetKind("Secret")
		u.Object["data"] = map[string]any{"password": value}
		return u
	}
	for name, tt := range map[string]struct {
		intent, answer *unstructured.Unstructured
		want           []component.Rewrite
	}{
		"as it was applied":                             {deployment(`{"replicas":3}`), deployment(`{"replicas":3}`), nil},
		"defaults, sidecars and zeros that are omitted": {deployment(`{"paused":false,"containers":[{"name":"a"}]}`), deployment(`{"containers":[{"name":"a","tty":false},{"name":"mesh"}],"replicas":1}`), nil},
		"another image": {deployment(`{"containers":[{"name":"a","image":"a:1"}]}`), deployment(`{"containers":[{"name":"a","image":"m/a:1"}]}`),
			[]component.Rewrite{{Kind: "Deployment", Name: "web", Field: "spec.containers[a].image", Applied: "a:1", Stored: "m/a:1"}}},
		"several fields": {deployment(`{"replicas":3,"containers":[{"name":"a","image":"a:1"}]}`), deployment(`{"replicas":1,"containers":[{"name":"a","image":"m/a:1"}]}`),
			[]component.Rewrite{{Kind: "Deployment", Name: "web", Field: "spec.containers[a].image", Applied: "a:1", Stored: "m/a:1", More: 1}}},
		"another order":       {deployment(`{"env":[{"name":"A"},{"name":"B"}]}`), deployment(`{"env":[{"name":"B"},{"name":"A"}]}`), []component.Rewrite{{Kind: "Deployment", Name: "web", Field: "spec.env", Applied: `[{"name":"A"},{"name":"B"}]`, Stored: `[{"name":"B"},{"name":"A"}]`}}},
		"without annotations": {deployment(`{}`), deployment(`{}`, v1.SpecHashAnnotation, v1.RenderedAnnotation), []component.Rewrite{{Kind: "Deployment", Name: "web", Field: hashPath, Applied: "1", Stored: "none"}}},
		"a Secret":            {secret("bXk="), secret("b3RoZXI="), []component.Rewrite{{Kind: "Secret", Name: "web", Field: "data.password"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			applier := New(Options{})
			if err := applier.noteStored(tt.answer, tt.intent); err != nil {
				t.Fatal(err)
			}
			got := applier.Rewrites([]component.Resource{tt.intent})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			other := tt.intent.DeepCopy()
			other.SetAnnotations(map[string]string{v1.SpecHashAnnotation: "2"})
			if later := applier.Rewrites([]component.Resource{other}); len(later) > 0 {
				t.Errorf("another intent has %v", later)
			}
			if err := applier.noteStored(tt.intent, tt.intent); err != nil || applier.isRewritten(tt.intent) {
				t.Errorf("it is rewritten although the last answer is as applied: %v", err)
			}
		})
	}
	long := deployment(`{"` + strings.Repeat("f", 300) + `":"a"}`)
	applier := New(Options{})
	if err := applier.noteStored(deployment(`{}`), long); err != nil || len(applier.Rewrites([]component.Resource{long})[0].Field) > maxRewrittenField {
		t.Error("the path of a field is not bounded")
	}
}
