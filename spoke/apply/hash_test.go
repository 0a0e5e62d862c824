package apply_test

import (
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

func configMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings", Labels: map[string]string{"a": "1", "b": "2"}},
		Data:       map[string]string{"x": "1", "y": "2"},
	}
}

func hash(t *testing.T, change func(*corev1.ConfigMap)) string {
	t.Helper()
	object := configMap()
	change(object)
	sum, err := apply.Hash(object)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestHash(t *testing.T) {
	base := hash(t, func(*corev1.ConfigMap) {})
	if raw, err := hex.DecodeString(base); err != nil || len(raw) != 32 {
		t.Errorf("%q is not the hex of 32 bytes", base)
	}
	tests := map[string]struct {
		change func(*corev1.ConfigMap)
		same   bool
	}{
		"nothing":            {func(*corev1.ConfigMap) {}, true},
		"its own annotation": {func(c *corev1.ConfigMap) { c.Annotations = map[string]string{v1.SpecHashAnnotation: "old"} }, true},
		"what servers write": {func(c *corev1.ConfigMap) { c.UID, c.ResourceVersion, c.Generation = "u", "7", 3 }, true},
		"data":               {func(c *corev1.ConfigMap) { c.Data["x"] = "2" }, false},
		"a label":            {func(c *corev1.ConfigMap) { delete(c.Labels, "a") }, false},
		"an annotation":      {func(c *corev1.ConfigMap) { c.Annotations = map[string]string{"other": "x"} }, false},
		"an owner":           {func(c *corev1.ConfigMap) { c.OwnerReferences = []metav1.OwnerReference{{UID: "u"}} }, false},
		"the name":           {func(c *corev1.ConfigMap) { c.Name = "other" }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := hash(t, tt.change); (got == base) != tt.same {
				t.Errorf("hash is the same: %v, want %v", got == base, tt.same)
			}
		})
	}
}

func TestStamp(t *testing.T) {
	object := configMap()
	for range 2 {
		if _, err := apply.Stamp(object); err != nil {
			t.Fatal(err)
		}
		sum, err := apply.Hash(object)
		if err != nil {
			t.Fatal(err)
		}
		if object.Annotations[v1.SpecHashAnnotation] != sum {
			t.Errorf("annotation is %q, hash is %q", object.Annotations[v1.SpecHashAnnotation], sum)
		}
	}
}

// TestHashLeavesObject checks that hashing does not change the live object, which may be in a shared cache.
func TestHashLeavesObject(t *testing.T) {
	typed := configMap()
	typed.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{}`)}}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		t.Fatal(err)
	}
	content["status"] = map[string]any{"phase": "Bound"}
	content["data"] = map[string]any{"x": nil} // Not hashed.
	for name, object := range map[string]component.Resource{
		"typed":   typed,
		"untyped": &unstructured.Unstructured{Object: content},
	} {
		t.Run(name, func(t *testing.T) {
			before := object.DeepCopyObject()
			if _, err := apply.Hash(object); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, object.(runtime.Object)); diff != "" {
				t.Errorf("the object changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestHashOfEncodings checks that it does not matter whether an object is typed,
// nor that only one encoding keeps the kind of nested objects.
func TestHashOfEncodings(t *testing.T) {
	typed := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{VolumeClaimTemplates: []corev1.PersistentVolumeClaim{
			{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: metav1.ObjectMeta{Name: "data"}},
		}},
	}
	want, err := apply.Hash(typed)
	if err != nil {
		t.Fatal(err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := apply.Hash(&unstructured.Unstructured{Object: content}); err != nil || got != want {
		t.Errorf("the untyped object has hash %s (%v), want %s", got, err, want)
	}
	typed.Spec.VolumeClaimTemplates[0].TypeMeta = metav1.TypeMeta{}
	if got, err := apply.Hash(typed); err != nil || got != want {
		t.Errorf("without nested kinds the hash is %s (%v), want %s", got, err, want)
	}
}

func FuzzHash(f *testing.F) {
	f.Add("x", "1", "label")
	f.Fuzz(func(t *testing.T, key, value, label string) {
		one, two := configMap(), configMap()
		one.Data[key], two.Data[key] = value, value
		one.Labels["l"], two.Labels["l"] = label, label
		if _, err := apply.Stamp(two); err != nil {
			t.Fatal(err)
		}
		first, err := apply.Hash(one)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := apply.Hash(two); err != nil || second != first {
			t.Errorf("equal objects have hashes %s and %s (%v)", first, second, err)
		}
	})
}
