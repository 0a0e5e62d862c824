package apply

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestEqualQuantities checks that what is no quantity equals none, not even 0.
func TestEqualQuantities(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		a, b any
		want bool
	}{
		"two spellings":        {"1", "1000m", true},
		"a number":             {int64(1), "1", true},
		"another":              {"1", "2", false},
		"the first is none":    {"none", "0", false},
		"the second is none":   {"0", "none", false},
		"neither is":           {"none", "nothing", false},
		"0 and something else": {"0", true, false},
	} {
		if got := equalQuantities(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestRandomLetters checks the bounds of a length, and that bytes that would favour the first letters are skipped.
func TestRandomLetters(t *testing.T) {
	t.Parallel()
	for n, valid := range map[int]bool{-1: false, 0: false, 1: true, maxLength: true, maxLength + 1: false} {
		got, err := random(n, bytes.NewReader(make([]byte, maxLength)))
		if (err == nil) != valid || valid && len(got) != n || !valid && !errors.Is(err, errLength) {
			t.Errorf("%d: %d characters, %v", n, len(got), err)
		}
	}
	const bound = byte(256 - 256%len(alphabet))
	got, err := random(2, bytes.NewReader([]byte{bound, bound - 1, 255, 1, 2, 3}))
	if want := string([]byte{alphabet[int(bound-1)%len(alphabet)], alphabet[1]}); err != nil || string(got) != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// TestLacksMetadata checks which labels and owners an object must have: those of an object of another owner stay.
func TestLacksMetadata(t *testing.T) {
	t.Parallel()
	mine, theirs := []metav1.OwnerReference{{UID: "mine", Controller: new(true)}}, []metav1.OwnerReference{{UID: "theirs", Controller: new(true)}}
	renamed := []metav1.OwnerReference{{UID: "mine", Name: "other", Controller: new(true)}}
	hash := map[string]string{v1.SpecHashAnnotation: "h"}
	type meta = metav1.ObjectMeta
	for name, tt := range map[string]struct {
		live, intent meta
		want         bool
	}{
		"equal":                       {meta{OwnerReferences: mine, Annotations: hash}, meta{OwnerReferences: mine}, false},
		"without a hash":              {meta{OwnerReferences: mine}, meta{OwnerReferences: mine}, true},
		"without an owner":            {meta{Annotations: hash}, meta{OwnerReferences: mine}, true},
		"another name of the owner":   {meta{OwnerReferences: renamed, Annotations: hash}, meta{OwnerReferences: mine}, true},
		"another owner":               {meta{OwnerReferences: theirs}, meta{OwnerReferences: mine}, false},
		"an owner, and none is meant": {meta{OwnerReferences: theirs}, meta{Labels: map[string]string{"a": "1"}}, false},
		"no owner":                    {meta{Annotations: hash}, meta{}, false},
		"a label":                     {meta{Annotations: hash}, meta{Labels: map[string]string{"a": "1"}}, true},
		"another value of a label":    {meta{Annotations: hash, Labels: map[string]string{"a": "2"}}, meta{Labels: map[string]string{"a": "1"}}, true},
		"the label of an owner":       {meta{Annotations: hash}, meta{Labels: map[string]string{v1.OwnerUIDLabel: "1"}}, false},
		"that of an owner that is meant": {
			meta{OwnerReferences: mine, Annotations: hash}, meta{OwnerReferences: mine, Labels: map[string]string{v1.OwnerUIDLabel: "1"}}, true,
		},
	} {
		intent := &unstructured.Unstructured{Object: map[string]any{}}
		intent.SetOwnerReferences(tt.intent.OwnerReferences)
		intent.SetLabels(tt.intent.Labels)
		if got := lacksMetadata(&corev1.Service{ObjectMeta: tt.live}, intent); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestLastOther checks that the field manager that wrote last is named, and neither this one nor one of a status.
func TestLastOther(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) *metav1.Time { return new(metav1.Unix(seconds, 0)) }
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	for name, tt := range map[string]struct {
		managers []metav1.ManagedFieldsEntry
		want     string
	}{
		"none":                     {nil, ""},
		"this one":                 {[]metav1.ManagedFieldsEntry{{Manager: "me", Operation: apply, Time: at(1)}}, ""},
		"an update in its name":    {[]metav1.ManagedFieldsEntry{{Manager: "me", Operation: update, Time: at(1)}}, "me"},
		"another apply":            {[]metav1.ManagedFieldsEntry{{Manager: "a", Operation: apply, Time: at(1)}}, "a"},
		"a status":                 {[]metav1.ManagedFieldsEntry{{Manager: "a", Operation: update, Subresource: "status", Time: at(1)}}, ""},
		"the later one, first":     {[]metav1.ManagedFieldsEntry{{Manager: "a", Time: at(2)}, {Manager: "b", Time: at(1)}}, "a"},
		"the later one, last":      {[]metav1.ManagedFieldsEntry{{Manager: "a", Time: at(1)}, {Manager: "b", Time: at(2)}}, "b"},
		"at the same time":         {[]metav1.ManagedFieldsEntry{{Manager: "a", Time: at(1)}, {Manager: "b", Time: at(1)}}, "b"},
		"without a time, it loses": {[]metav1.ManagedFieldsEntry{{Manager: "a", Time: at(1)}, {Manager: "b"}}, "a"},
	} {
		if got := New(Options{FieldManager: "me"}).lastOther(tt.managers).Manager; got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestAutoscalerOf checks that the autoscaler of an object is found by kind and name.
func TestAutoscalerOf(t *testing.T) {
	t.Parallel()
	target := &unstructured.Unstructured{Object: map[string]any{"kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "ns"}}}
	autoscaler := func(name, kind, of string) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"scaleTargetRef": map[string]any{"kind": kind, "name": of}},
		}}
	}
	for name, tt := range map[string]struct {
		lists lists
		want  string
	}{
		"none":       {lists{}, ""},
		"it fails":   {lists{err: errors.New("denied"), items: []unstructured.Unstructured{autoscaler("a", "Deployment", "web")}}, ""},
		"of another": {lists{items: []unstructured.Unstructured{autoscaler("a", "StatefulSet", "web"), autoscaler("b", "Deployment", "db")}}, ""},
		"the second": {lists{items: []unstructured.Unstructured{autoscaler("a", "Deployment", "db"), autoscaler("b", "Deployment", "web")}}, "b"},
	} {
		if got := New(Options{Reader: tt.lists}).autoscalerOf(t.Context(), target); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestForgetOne checks that one write is forgotten, and no other.
func TestForgetOne(t *testing.T) {
	t.Parallel()
	a := New(Options{})
	first, second := component.Key{Name: "first"}, component.Key{Name: "second"}
	a.written[first], a.written[second] = writeRecord{}, writeRecord{}
	a.forget(first)
	if a.wrote(first) || !a.wrote(second) {
		t.Errorf("remembers %v", a.written)
	}
	a.forget(second)
	if a.wrote(second) {
		t.Error("remembers what is forgotten")
	}
}

// TestDefaults checks what options are without values, and that values stay.
func TestDefaults(t *testing.T) {
	t.Parallel()
	a := New(Options{})
	if a.timeout != DefaultTimeout || a.random == nil || a.clock != (clock.RealClock{}) || a.slim == nil || a.slim(&corev1.Service{}) {
		t.Errorf("timeout %s, clock %T", a.timeout, a.clock)
	}
	source, slim := bytes.NewReader(nil), func(component.Resource) bool { return true }
	a = New(Options{Timeout: time.Nanosecond, Random: source, Slim: slim})
	if a.timeout != time.Nanosecond || a.random != source || !a.slim(&corev1.Service{}) {
		t.Errorf("timeout %s", a.timeout)
	}
}

// TestOwnsWhatItKnows checks that who owns the fields matters where a cache has no content.
func TestOwnsWhatItKnows(t *testing.T) {
	t.Parallel()
	intent := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"a": "b"}}}
	for name, tt := range map[string]struct {
		live component.Resource
		slim bool
		want bool
	}{
		"a Go type":                          {&corev1.Service{}, true, true},
		"content that is known":              {intent.DeepCopy(), false, true},
		"content that is not, and of others": {intent.DeepCopy(), true, false},
	} {
		a := New(Options{Slim: func(component.Resource) bool { return tt.slim }})
		if got := a.isOwned(tt.live, intent); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestWithoutManagers checks that an object is converted without its managed fields, and keeps them.
func TestWithoutManagers(t *testing.T) {
	t.Parallel()
	managed := []metav1.ManagedFieldsEntry{{Manager: "a"}}
	untyped := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "web"}}}
	untyped.SetManagedFields(managed)
	for name, object := range map[string]component.Resource{
		"a Go type":         &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", ManagedFields: managed}},
		"without a Go type": untyped,
		"without managers":  &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
	} {
		before := len(object.GetManagedFields())
		content, err := withoutManagers(object)
		if err != nil {
			t.Fatal(err)
		}
		converted := unstructured.Unstructured{Object: content}
		if converted.GetName() != "web" || converted.GetManagedFields() != nil || len(object.GetManagedFields()) != before {
			t.Errorf("%s: %v, and the object has %d managers", name, content, len(object.GetManagedFields()))
		}
	}
}

// TestOrderOfOneKind checks that only kinds that are compared by order have one.
func TestOrderOfOneKind(t *testing.T) {
	t.Parallel()
	of := func(version, kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": version, "kind": kind, "metadata": map[string]any{"generation": int64(2)},
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a"}}}}},
		}}
	}
	for name, tt := range map[string]struct {
		object *unstructured.Unstructured
		has    bool
	}{
		"Deployment":             {of("apps/v1", "Deployment"), true},
		"StatefulSet":            {of("apps/v1", "StatefulSet"), true},
		"DaemonSet":              {of("apps/v1", "DaemonSet"), false},
		"a Deployment of others": {of("example.com/v1", "Deployment"), false},
		"CronJob":                {of("batch/v1", "CronJob"), true},
		"Job":                    {of("batch/v1", "Job"), false},
		"a CronJob of others":    {of("example.com/v1", "CronJob"), false},
	} {
		if has := orderOf(tt.object) != 0; has != tt.has {
			t.Errorf("%s: has an order: %t", name, has)
		}
	}
}

// lists is a reader that lists some objects.
type lists struct {
	client.Reader
	items []unstructured.Unstructured
	err   error
}

func (l lists) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	if list, ok := into.(*unstructured.UnstructuredList); ok {
		list.Items = l.items
	}
	return l.err
}
