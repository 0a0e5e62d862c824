package apply

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ours are the managed fields of an applied pod template with a container.
const ours = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:name":{},"f:image":{},"f:env":{"k:{\"name\":\"A\"}":{"f:name":{},"f:value":{}}}}}}}}}`

// workload returns a Deployment with managed fields by manager.
func workload(t *testing.T, template string, managers map[string]string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
	if template != "" {
		if err := unstructured.SetNestedMap(u.Object, decode(t, template), templatePath()...); err != nil {
			t.Fatal(err)
		}
	}
	var entries []metav1.ManagedFieldsEntry
	for manager, fields := range managers {
		entry := metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply}
		if fields != "" {
			entry.FieldsV1 = metav1.NewFieldsV1(fields)
		}
		entries = append(entries, entry, metav1.ManagedFieldsEntry{Manager: "status", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:template":{"f:spec":{"f:hostNetwork":{}}}}}`)})
	}
	u.SetManagedFields(entries)
	return u
}

// TestKeepTemplate checks that what was applied of a template stays, without defaults and fields of others, unless
// one of these takes over a field that is to be rendered.
func TestKeepTemplate(t *testing.T) {
	t.Parallel()
	const live = `{"spec":{"containers":[{"name":"web","image":"shop:1","imagePullPolicy":"Always","env":[{"name":"A","value":"1"},{"name":"B","value":"theirs"}]},{"name":"sidecar","image":"s"}],"hostNetwork":true,"dnsPolicy":"Default"}}`
	const kept = `{"spec":{"containers":[{"name":"web","image":"shop:1","env":[{"name":"A","value":"1"}]}]}}`
	theirs := func(container string) map[string]string {
		return map[string]string{"test": ours, "kubectl": `{"f:spec":{"f:template":{"f:spec":{"f:containers":{` + container + `}}}}}`}
	}
	for name, test := range map[string]struct {
		live     string
		managers map[string]string
		rendered string
		want     string
	}{
		"as applied":                 {live, map[string]string{"test": ours}, `{"spec":{"containers":[{"name":"web","image":"shop:2"}],"hostNetwork":false}}`, kept},
		"nothing is rendered":        {live, map[string]string{"test": ours}, "", kept},
		"no template":                {"", map[string]string{"test": ours}, "", ""},
		"nothing was applied":        {live, map[string]string{"kubectl": ours}, "", ""},
		"no fields are known":        {live, map[string]string{"test": ""}, "", ""},
		"another's part is not ours": {live, theirs(`"k:{\"name\":\"sidecar\"}":{"f:image":{}}`), `{"spec":{"containers":[{"name":"web","image":"shop:2"}]}}`, kept},
		"another has the same":       {live, theirs(`"k:{\"name\":\"web\"}":{"f:image":{}}`), `{"spec":{"containers":[{"name":"web","image":"shop:2"}]}}`, kept},
		"another has what is added":  {live, theirs(`"k:{\"name\":\"web\"}":{"f:imagePullPolicy":{}}`), `{"spec":{"containers":[{"name":"web","imagePullPolicy":"Never"}]}}`, ""},
		"what is added is empty":     {live, theirs(`"k:{\"name\":\"web\"}":{"f:imagePullPolicy":{}}`), `{"spec":{"containers":[{"name":"web","imagePullPolicy":null}]}}`, kept},
		"another has no fields":      {live, map[string]string{"test": ours, "kubectl": ""}, `{"spec":{"containers":[{"name":"web","image":"shop:2"}]}}`, kept},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var req Request
			if test.rendered != "" {
				req.Instead = workload(t, test.rendered, nil)
			}
			intent := &unstructured.Unstructured{Object: map[string]any{}}
			a := New(Options{FieldManager: "test"})
			stays, err := a.keepTemplate(req, workload(t, test.live, test.managers), intent)
			if err != nil || stays != (test.want != "") {
				t.Fatalf("it stays: %t, %v", stays, err)
			}
			if test.want == "" {
				return
			}
			got, _, _ := unstructured.NestedMap(intent.Object, templatePath()...)
			if diff := cmp.Diff(decode(t, test.want), got); diff != "" {
				t.Errorf("template (-want +got):\n%s", diff)
			}
		})
	}
}

// TestItemFields checks that items are found by their keys, or by their value, and what is neither is passed over.
func TestItemFields(t *testing.T) {
	t.Parallel()
	fields := map[string]any{}
	if err := json.Unmarshal([]byte(`{".":{},"i:0":{"f:place":{}},"k:no JSON":{"f:none":{}},"v:no JSON":{"f:none":{}},"k:3":{"f:none":{}},"v:\"x\"":{"f:value":{}},"v:[1]":{"f:whole":{}},"k:{\"name\":\"x\"}":{"f:key":{}},"k:{\"name\":\"n\"}":7}`), &fields); err != nil {
		t.Fatal(err)
	}
	for range 20 { // Fields come in any order.
		for want, item := range map[string]any{"f:value": "x", "f:whole": []any{float64(1)}, "f:key": map[string]any{"name": "x"}, "": "y"} {
			got := itemFields(fields, item)
			if _, found := got[want]; found != (want != "") || want == "" && got != nil {
				t.Fatalf("%v has fields %v, want %q", item, got, want)
			}
		}
	}
}

// TestTakesOver checks that another manager takes a field over that is to be rendered, if it has it and this applier does
// not, and not one that both have as a whole.
func TestTakesOver(t *testing.T) {
	t.Parallel()
	type fields = map[string]any
	for name, tt := range map[string]struct {
		theirs, ours fields
		value        any
		want         bool
	}{
		"nobody has it":           {nil, nil, "x", false},
		"this applier has it":     {nil, fields{}, "x", false},
		"another has it":          {fields{}, nil, "x", true},
		"another, and it is none": {fields{}, nil, nil, false},
		"both have it":            {fields{}, fields{}, "x", false},
		"this one has all of it":  {fields{"f:a": fields{}}, fields{}, fields{"a": "x"}, false},
		"another has all of it":   {fields{}, fields{"f:a": fields{}}, fields{"a": "x"}, false},
		"another has a part":      {fields{"f:a": fields{}}, fields{"f:b": fields{}}, fields{"a": "x"}, true},
		"a part that is not set":  {fields{"f:a": fields{}}, fields{"f:b": fields{}}, fields{"b": "x"}, false},
		"another has an item":     {fields{`v:"x"`: fields{}}, fields{`v:"y"`: fields{}}, []any{"y", "x"}, true},
		"each has its own items":  {fields{`v:"x"`: fields{}}, fields{`v:"y"`: fields{}}, []any{"y"}, false},
	} {
		if got := takesOver(tt.theirs, tt.ours, tt.value); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
