package apply

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestZeros checks that an intent owns the zero values of fields that stop or redirect an application, and that
// a live object has them, which the API server omits.
func TestZeros(t *testing.T) {
	t.Parallel()
	for kind, tt := range map[string]struct {
		object component.Resource
		fields []string
	}{
		"Deployment":  {&appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}}, []string{"paused", "minReadySeconds"}},
		"StatefulSet": {&appsv1.StatefulSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}}, []string{"minReadySeconds"}},
		"Service":     {&corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}}, []string{"publishNotReadyAddresses", "externalName"}},
	} {
		content, err := contentOf(tt.object)
		if err != nil {
			t.Fatal(err)
		}
		untyped, err := contentOf(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": content["apiVersion"], "kind": kind, "spec": map[string]any{},
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range []any{content["spec"], untyped["spec"]} {
			for _, field := range tt.fields {
				if value, set := spec.(map[string]any)[field]; !set || value != false && value != int64(0) && value != "" {
					t.Errorf("%s: spec.%s is %v", kind, field, value)
				}
			}
		}
	}
	partial := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}}
	if content, err := contentOf(partial); err != nil || content["spec"] != nil {
		t.Errorf("metadata alone has a spec: %v, %v", content, err)
	}
}

// TestNoZeros checks that objects of other kinds, and of others' groups, get no values.
func TestNoZeros(t *testing.T) {
	t.Parallel()
	for version, kind := range map[string]string{"example.com/v1": "Deployment", "apps/v1": "ReplicaSet"} {
		other := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "spec": map[string]any{}}}
		if content, err := contentOf(other); err != nil || len(content["spec"].(map[string]any)) > 0 {
			t.Errorf("a %s of %s gets %v, %v", kind, version, content["spec"], err)
		}
	}
}
