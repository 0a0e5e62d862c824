package apply

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An intent, and the managed fields of who owns all of it.
const (
	ownedIntent = `{
		"apiVersion":"apps/v1","kind":"Deployment",
		"metadata":{"name":"a","labels":{"l":"1"},"ownerReferences":[{"uid":"u","name":"o"}],"finalizers":["f/x"]},
		"spec":{
			"replicas":2,"paused":false,"selector":{"matchLabels":{"l":"1"}},
			"template":{"spec":{
				"nodeSelector":{},"tolerations":[{"key":"k"}],
				"containers":[{"name":"c","image":"i","args":["x"],"emptyDir":{},"ports":[{"containerPort":80}]}]
			}}
		}}`
	ownedFields = `{
		"f:metadata":{"f:labels":{"f:l":{}},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}},"f:finalizers":{"v:\"f/x\"":{}}},
		"f:spec":{
			"f:replicas":{},"f:paused":{},"f:selector":{},
			"f:template":{"f:spec":{
				"f:tolerations":{},
				"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:image":{},"f:args":{},"f:emptyDir":{},
					"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}
			}}
		}}`
)

// TestOwnsAll checks that an intent is owned if the managed fields contain everything that it sets.
func TestOwnsAll(t *testing.T) {
	t.Parallel()
	const manager = "test"
	parse := func(t *testing.T, text string) map[string]any {
		t.Helper()
		var parsed map[string]any
		if err := json.Unmarshal([]byte(text), &parsed); err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	owned := func(t *testing.T, fields map[string]any) bool {
		t.Helper()
		raw, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		live := &unstructured.Unstructured{Object: map[string]any{}}
		live.SetManagedFields([]metav1.ManagedFieldsEntry{
			{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(ownedFields)},
			{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(string(raw))},
		})
		return (&Applier{manager: manager}).ownsAll(live, &unstructured.Unstructured{Object: parse(t, ownedIntent)})
	}
	if !owned(t, parse(t, ownedFields)) {
		t.Error("all fields are owned, and it says that they are not")
	}
	for _, lost := range [][]string{
		{"f:metadata", "f:labels", "f:l"},
		{"f:metadata", "f:labels"},
		{"f:metadata", "f:ownerReferences", `k:{"uid":"u"}`},
		{"f:metadata", "f:finalizers", `v:"f/x"`},
		{"f:spec", "f:replicas"},
		{"f:spec", "f:paused"},
		{"f:spec", "f:template", "f:spec", "f:tolerations"},
		{"f:spec", "f:template", "f:spec", "f:containers", `k:{"name":"c"}`, "f:image"},
		{"f:spec", "f:template", "f:spec", "f:containers", `k:{"name":"c"}`, "f:ports", `k:{"containerPort":80,"protocol":"TCP"}`, "f:containerPort"},
		{"f:spec"},
	} {
		fields := parse(t, ownedFields)
		kept, _, err := unstructured.NestedMap(fields, lost[:len(lost)-1]...)
		if err != nil {
			t.Fatal(err)
		}
		delete(kept, lost[len(lost)-1])
		kept["f:other"] = map[string]any{} // So that it does not become a leaf.
		if len(lost) == 1 {
			fields = kept
		} else if err := unstructured.SetNestedMap(fields, kept, lost[:len(lost)-1]...); err != nil {
			t.Fatal(err)
		}
		if owned(t, fields) {
			t.Errorf("%q is lost, and it says that all are owned", lost)
		}
	}
}
