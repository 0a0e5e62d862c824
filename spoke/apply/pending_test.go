package apply_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

func TestSpecFields(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 200)
	many := map[string]any{}
	for i := range 12 {
		many[fmt.Sprintf("f%02d", i)] = int64(i)
	}
	for name, tt := range map[string]struct {
		live, intent map[string]any
		want         []string
	}{
		"equal":   {map[string]any{"image": "a"}, map[string]any{"image": "a"}, nil},
		"changed": {map[string]any{"image": "shop:v1"}, map[string]any{"image": "shop:v2"}, []string{"spec.image: shop:v1 -> shop:v2"}},
		"added":   {map[string]any{}, map[string]any{"replicas": int64(3)}, []string{"spec.replicas: none -> 3"}},
		"removed": {map[string]any{"ingress": map[string]any{"host": "a"}, "b": true}, map[string]any{"b": true}, []string{`spec.ingress: {"host":"a"} -> none`}},
		"removed below": {
			map[string]any{"ingress": map[string]any{"host": "a", "className": "n"}}, map[string]any{"ingress": map[string]any{"host": "a"}},
			[]string{"spec.ingress.className: n -> none"},
		},
		"item": {
			map[string]any{"env": []any{map[string]any{"name": "A", "value": "1"}}}, map[string]any{"env": []any{map[string]any{"name": "A", "value": "2"}}},
			[]string{"spec.env[A].value: 1 -> 2"},
		},
		"lines":     {map[string]any{"a": "x"}, map[string]any{"a": "y\nz"}, []string{`spec.a: x -> "y\nz"`}},
		"empty":     {map[string]any{"a": "x"}, map[string]any{"a": ""}, []string{`spec.a: x -> ""`}},
		"long":      {map[string]any{"a": "x"}, map[string]any{"a": long}, []string{"spec.a: x -> " + strings.Repeat("ä", 38) + "..."}},
		"long path": {map[string]any{}, map[string]any{strings.Repeat("p", 300): int64(1)}, []string{"spec." + strings.Repeat("p", 248) + "..."}},
		"many": {map[string]any{}, many, []string{
			"spec.f00: none -> 0", "spec.f01: none -> 1", "spec.f02: none -> 2", "spec.f03: none -> 3", "spec.f04: none -> 4",
			"spec.f05: none -> 5", "spec.f06: none -> 6", "spec.f07: none -> 7", "spec.f08: none -> 8", "spec.f09: none -> 9",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, apply.SpecFields(tt.live, tt.intent)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecreationAndExpansion(t *testing.T) {
	t.Parallel()
	set := func(service string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": "db"}, "spec": map[string]any{"serviceName": service},
		}}
	}
	want := v1.PendingChange{Kind: "StatefulSet", Name: "db", Action: v1.PendingRecreate, Fields: []string{"spec.serviceName: a -> b"}}
	if diff := cmp.Diff(want, apply.Recreation(set("a"), set("b"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	claim := &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{Kind: "PersistentVolumeClaim"}, ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	want = v1.PendingChange{
		Kind: "PersistentVolumeClaim", Name: "data", Action: v1.PendingExpand, Fields: []string{"spec.resources.requests.storage: 1Gi -> 2Gi"},
	}
	if diff := cmp.Diff(want, apply.Expansion(claim, "1Gi", new(resource.MustParse("2Gi")).String())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// testHeld checks what would be written, and that nothing is.
func testHeld(s *server) func(*testing.T) {
	return func(t *testing.T) {
		a := s.applier()
		secret := func(name, value string) *corev1.Secret {
			return &corev1.Secret{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"a": "1"}}, Data: map[string][]byte{"password": []byte(value)},
			}
		}
		config := func(value string, labels map[string]string) *corev1.ConfigMap {
			return &corev1.ConfigMap{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "held", Labels: labels}, Data: map[string]string{"k": value},
			}
		}
		owned, more := map[string]string{"a": "1"}, map[string]string{"a": "1", "b": "2"}
		do(t, a, apply.Request{Intent: secret("held", "former"), Owned: labelled}, apply.Created)
		do(t, a, apply.Request{Intent: config("1", owned), Owned: labelled}, apply.Created)
		writes := s.writes
		for name, tt := range map[string]struct {
			intent component.Resource
			want   *v1.PendingChange
		}{
			"missing":   {secret("held-too", "x"), &v1.PendingChange{Kind: "Secret", Name: "held-too", Action: v1.PendingCreate}},
			"secret":    {secret("held", "secret"), &v1.PendingChange{Kind: "Secret", Name: "held", Action: v1.PendingUpdate, Fields: []string{"data.password"}}},
			"unchanged": {config("1", owned), nil},
			"changed": {config("2", more), &v1.PendingChange{
				Kind: "ConfigMap", Name: "held", Action: v1.PendingUpdate, Fields: []string{"data.k: 1 -> 2", "metadata.labels.b: none -> 2"},
			}},
		} {
			result, err := a.Apply(t.Context(), apply.Request{Intent: tt.intent, Owned: labelled, Hold: true})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, result.Change); diff != "" || (result.Outcome == apply.Held) != (tt.want != nil) {
				t.Errorf("%s: %s (-want +got):\n%s", name, result.Outcome, diff)
			}
		}
		if s.writes != writes {
			t.Errorf("%d writes", s.writes-writes)
		}
		// What was removed from the intent is known by its hash alone.
		less := config("1", owned)
		less.Data = nil
		result, err := a.Apply(t.Context(), apply.Request{Intent: less, Owned: labelled, Hold: true})
		if err != nil || result.Change == nil || !slices.ContainsFunc(result.Change.Fields, func(f string) bool {
			return strings.HasPrefix(f, "metadata.annotations["+v1.SpecHashAnnotation+"]: ")
		}) {
			t.Errorf("%+v, %v", result.Change, err)
		}
	}
}
