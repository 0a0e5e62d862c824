package apply

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestKeptTemplate checks what would be written of a workload that keeps its pod template: what else differs or, if others
// have changed the template or it is missing, what is to be applied instead, or nothing without that.
func TestKeptTemplate(t *testing.T) {
	t.Parallel()
	const applied, rendered = `{"spec":{"containers":[{"name":"web","image":"shop:1"}]}}`, `{"spec":{"containers":[{"name":"web","image":"shop:2"}]}}`
	of := func(template, label string) *unstructured.Unstructured {
		u := workload(t, template, nil)
		u.SetName("web")
		u.SetLabels(map[string]string{"l": label})
		return u
	}
	live := func(managers map[string]string) *unstructured.Unstructured {
		u := workload(t, applied, managers)
		u.SetName("web")
		u.SetLabels(map[string]string{"l": "1"})
		u.SetAnnotations(map[string]string{v1.SpecHashAnnotation: "former"})
		return u
	}
	mine := map[string]string{"test": ours}
	const image, label = "spec.template.spec.containers[web].image: shop:1 -> shop:2", "metadata.labels.l: 1 -> 2"
	for name, tt := range map[string]struct {
		live    *unstructured.Unstructured
		instead component.Resource
		want    []string
	}{
		"it stays":                           {live(mine), of(rendered, "2"), []string{label}},
		"it stays, and there is no other":    {live(mine), nil, []string{label}},
		"it is of others":                    {live(map[string]string{"kubectl": ours}), of(rendered, "2"), []string{label, image}},
		"it is of others, there is no other": {live(map[string]string{"kubectl": ours}), nil, nil},
	} {
		server := &readOnly{}
		request := Request{Intent: of(rendered, "2"), Live: tt.live, KeepTemplate: true, Instead: tt.instead, Hold: true, Owned: owned}
		result, err := server.applier().Apply(t.Context(), request)
		if err != nil || (result.Change == nil) != (tt.want == nil) || result.Change == nil && result.Outcome != Unchanged {
			t.Errorf("%s: %+v, %v", name, result, err)
			continue
		}
		if result.Change == nil {
			continue
		}
		if diff := cmp.Diff(tt.want, result.Change.Fields); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, tt := range map[string]struct {
		instead component.Resource
		want    Outcome
	}{"instead": {of(rendered, "1"), Held}, "nothing": {nil, Unchanged}} {
		request := Request{Intent: of(rendered, "1"), KeepTemplate: true, Instead: tt.instead, Hold: true, Owned: owned}
		if result, err := (&readOnly{}).applier().Apply(t.Context(), request); err != nil || result.Outcome != tt.want {
			t.Errorf("missing, %s: %s, %v", name, result.Outcome, err)
		}
	}
}

// TestOnce checks that an object that is written once gets its lost metadata and missing data back, and nothing else.
func TestOnce(t *testing.T) {
	t.Parallel()
	intent := func() *unstructured.Unstructured {
		u := stored(t, "1", "")
		u.SetUID("")
		u.Object["data"] = map[string]any{"a": "1", "b": "2"}
		u.SetLabels(map[string]string{"l": "1"})
		return u
	}
	live := func(labels map[string]string) *unstructured.Unstructured {
		u := stored(t, "edited", "7")
		u.SetLabels(labels)
		return u
	}
	adopted := live(map[string]string{"l": "1"})
	adopted.SetAnnotations(map[string]string{v1.SpecHashAnnotation: "h", v1.AdoptAnnotation: string(v1.AdoptAlways)})
	for name, tt := range map[string]struct {
		live  *unstructured.Unstructured
		owned bool
		want  []string
	}{
		"edited":         {live(map[string]string{"l": "1"}), true, nil},
		"without labels": {live(nil), true, []string{"data.b: none -> 2", "metadata.labels: none -> {\"l\":\"1\"}"}},
		"adopted":        {adopted, false, []string{"data.b: none -> 2"}},
	} {
		isOwned := func(component.Resource) bool { return tt.owned }
		a := (&readOnly{}).applier()
		result, err := a.Apply(t.Context(), Request{Intent: intent(), Live: tt.live, Once: true, Hold: true, Owned: isOwned})
		var got []string
		if result.Change != nil {
			got = result.Change.Fields
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestNotWritten checks that nothing is written over an object that a check refuses, or that is of others or ends although
// it may be adopted.
func TestNotWritten(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	adoptable := stored(t, "0", "7")
	adoptable.SetAnnotations(map[string]string{v1.AdoptAnnotation: string(v1.AdoptAlways)})
	same, differs := stored(t, "1", "7"), stored(t, "0", "7")
	for _, o := range []*unstructured.Unstructured{same, differs} {
		o.SetAnnotations(map[string]string{v1.AdoptAnnotation: string(v1.AdoptIfNoDiff)})
	}
	ending := adoptable.DeepCopy()
	ending.SetDeletionTimestamp(new(metav1.Unix(1, 0)))
	for name, tt := range map[string]struct {
		live     *unstructured.Unstructured
		owned    bool
		check    error
		conflict bool
		outcome  Outcome
	}{
		"owned":                     {live: stored(t, "0", "7"), owned: true, outcome: Held},
		"refused":                   {live: stored(t, "0", "7"), owned: true, check: refused},
		"of others":                 {live: stored(t, "0", "7"), conflict: true},
		"of others, for adoption":   {live: adoptable, outcome: Held},
		"for adoption, and it ends": {live: ending, conflict: true},
		"if it does not differ":     {live: same, outcome: Held},
		"that, and it does":         {live: differs, conflict: true},
		"owned, and it ends":        {live: ending, owned: true, check: refused, outcome: Terminating},
	} {
		request := Request{Intent: intended(t, "1"), Live: tt.live, Hold: true, Owned: func(component.Resource) bool { return tt.owned }}
		if tt.check != nil {
			request.Check = func(component.Resource) error { return tt.check }
		}
		result, err := (&readOnly{}).applier().Apply(t.Context(), request)
		_, conflict := errors.AsType[*ConflictError](err)
		if result.Outcome != tt.outcome || conflict != tt.conflict || (tt.outcome == "" && !conflict) != errors.Is(err, refused) {
			t.Errorf("%s: %s, %v", name, result.Outcome, err)
		}
	}
}

// TestAnswered checks that a dry run lists what the API server would add, change and remove, each once, and neither a
// status nor metadata of its own.
func TestAnswered(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		live, answer string
		want         []string
	}{
		"nothing":  {`{"data":{"a":"1"}}`, `{"data":{"a":"1"},"metadata":{"generation":2}}`, nil},
		"added":    {`{"data":{"a":"1"}}`, `{"data":{"a":"1","b":"2"}}`, []string{"data.b: none -> 2"}},
		"changed":  {`{"data":{"a":"1"}}`, `{"data":{"a":"2"}}`, []string{"data.a: 1 -> 2"}},
		"removed":  {`{"data":{"a":"1","b":"2"}}`, `{"data":{"a":"1"}}`, []string{"data.b: 2 -> none"}},
		"a status": {`{"data":{"a":"1"},"status":{"a":"1"}}`, `{"data":{"a":"1"},"status":{"a":"2"}}`, nil},
		"labels":   {`{"metadata":{"labels":{"l":"1"}}}`, `{"metadata":{"labels":{"l":"2"}}}`, []string{"metadata.labels.l: 1 -> 2"}},
	} {
		result, err := answered(decode(t, tt.live), &unstructured.Unstructured{Object: decode(t, tt.answer)})
		var got []string
		if result.Change != nil {
			got = result.Change.Fields
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil || (result.Outcome == Unchanged) != (tt.want == nil) {
			t.Errorf("%s: %s, %v (-want +got):\n%s", name, result.Outcome, err, diff)
		}
	}
}

// TestReplicasStay checks that replicas that this applier does not own, or of which there are none, are not handed over.
func TestReplicasStay(t *testing.T) {
	t.Parallel()
	denied := errors.New("denied")
	deployment := func(manager, fields string, replicas int64) *unstructured.Unstructured {
		u := workload(t, "", map[string]string{manager: fields})
		if err := unstructured.SetNestedField(u.Object, replicas, "spec", "replicas"); err != nil {
			t.Fatal(err)
		}
		return u
	}
	const ownsThem = `{"f:spec":{"f:replicas":{}}}`
	for name, tt := range map[string]struct {
		server *readOnly
		want   error
	}{
		"not known":          {&readOnly{err: denied}, denied},
		"gone":               {&readOnly{}, nil},
		"of another manager": {&readOnly{live: deployment("kubectl", ownsThem, 3)}, nil},
		"not applied":        {&readOnly{live: deployment("test", `{"f:spec":{"f:paused":{}}}`, 3)}, nil},
		"stopped":            {&readOnly{live: deployment("test", ownsThem, 0)}, nil},
	} {
		u := update{intent: workload(t, "", nil), content: map[string]any{"spec": map[string]any{"replicas": int64(3)}}}
		if version, err := tt.server.applier().leaveReplicas(t.Context(), u, "7"); version != "7" || !errors.Is(err, tt.want) {
			t.Errorf("%s: version %s, %v", name, version, err)
		}
	}
}
