package commands

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestThreeWay: as with kubectl apply, a field that the manifest no longer has is removed if the manifest
// had it when it was applied last, and a field of others stays.
func TestThreeWay(t *testing.T) {
	decode := func(text string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			t.Fatal(err)
		}
		object.SetAPIVersion("ecommerce.io/v1")
		object.SetKind("EcommerceApp")
		return object
	}
	live := decode("{metadata: {name: shop, resourceVersion: '7'}, spec: {image: v1, ingress: {host: a}, replicas: 3}}")
	applied := live.DeepCopy()
	applied.SetAnnotations(map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": `{"metadata":{"name":"shop"},"spec":{"image":"v1","ingress":{"host":"a"}}}`,
	})
	for name, tt := range map[string]struct {
		live     *unstructured.Unstructured
		manifest string
		want     string
	}{
		"unchanged":             {applied, "{metadata: {name: shop}, spec: {image: v1, ingress: {host: a}}}", `{}`},
		"changed":               {applied, "{metadata: {name: shop}, spec: {image: v2, ingress: {host: a}}}", `{"spec":{"image":"v2"}}`},
		"removed":               {applied, "{metadata: {name: shop}, spec: {image: v1}}", `{"spec":{"ingress":null}}`},
		"never applied":         {live, "{metadata: {name: shop}, spec: {image: v1}}", `{}`},
		"another's, also of us": {applied, "{metadata: {name: shop}, spec: {image: v1, ingress: {host: a}, replicas: 2}}", `{"spec":{"replicas":2}}`},
	} {
		patch, err := threeWay(tt.live, decode(tt.manifest))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(patch)); diff != "" {
			t.Errorf("%s: patch (-want +got):\n%s", name, diff)
		}
	}
}
