package apply

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/shopfleet/shopfleet/spoke/component"
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

// TestNew checks that options that are not given have defaults, and those that are given stay.
func TestNew(t *testing.T) {
	t.Parallel()
	if a := New(Options{}); a.timeout != DefaultTimeout || a.random == nil || a.clock == nil || a.slim(nil) {
		t.Errorf("%+v", a.timeout)
	}
	a := New(Options{Timeout: time.Second, Random: zero{}, Slim: func(component.Resource) bool { return true }})
	if _, ok := a.random.(zero); !ok || a.timeout != time.Second || !a.slim(nil) {
		t.Errorf("%+v", a.timeout)
	}
}

type zero struct{}

func (zero) Read(p []byte) (int, error) { return len(p), nil }

// TestIsOwned checks that only an object whose content the cache lacks is asked for the owner of each field.
func TestIsOwned(t *testing.T) {
	t.Parallel()
	intent := workload(t, `{"spec":{"hostNetwork":true}}`, nil)
	for name, test := range map[string]struct {
		slim bool
		live component.Resource
		want bool
	}{
		"a whole object": {false, workload(t, "", nil), true},
		"metadata":       {true, metadataOf(intent), true},
		"of others":      {true, workload(t, "", nil), false},
	} {
		a := New(Options{FieldManager: "test", Slim: func(component.Resource) bool { return test.slim }})
		if got := a.isOwned(test.live, intent); got != test.want {
			t.Errorf("%s: owned: %t", name, got)
		}
	}
}

// TestForget checks that what was written of other objects stays known.
func TestForget(t *testing.T) {
	t.Parallel()
	a, one, other := New(Options{}), component.Key{Name: "one"}, component.Key{Name: "other"}
	a.written[one], a.written[other] = writeRecord{}, writeRecord{}
	a.forget(one)
	if a.wrote(one) || !a.wrote(other) {
		t.Errorf("known are %d", len(a.written))
	}
}
