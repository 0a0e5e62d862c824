package apply

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestMatched checks that an object is known to need no write only for the same version and intent, and if nothing
// else changed.
func TestMatched(t *testing.T) {
	t.Parallel()
	request := func() Request {
		intent := &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "a", Annotations: map[string]string{v1.SpecHashAnnotation: "1"}},
		}
		live := intent.DeepCopy()
		live.UID, live.ResourceVersion = "1", "10"
		return Request{Intent: intent, Live: live}
	}
	a := New(Options{})
	if a.isMatched(request()) {
		t.Fatal("it is known before it was seen")
	}
	a.putMatch(component.KeyOf(request().Intent), a.matchOf(request().Live, request().Intent))
	for name, tt := range map[string]struct {
		change func(*Request)
		want   bool
	}{
		"the same":            {func(*Request) {}, true},
		"another version":     {func(r *Request) { r.Live.SetResourceVersion("11") }, false},
		"made anew":           {func(r *Request) { r.Live.SetUID("2") }, false},
		"another intent":      {func(r *Request) { r.Intent.SetAnnotations(map[string]string{v1.SpecHashAnnotation: "2"}) }, false},
		"an intent unhashed":  {func(r *Request) { r.Intent.SetAnnotations(nil) }, false},
		"gone":                {func(r *Request) { r.Live = nil }, false},
		"without its content": {func(r *Request) { NewFingerprints().Take(r.Live, "test") }, false},
		"another object":      {func(r *Request) { r.Intent.SetName("b") }, false},
		"of another kind": {func(r *Request) {
			r.Intent.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		}, false},
		"of no kind": {func(r *Request) {
			r.Intent.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(""))
		}, false},
		"with a check":                {func(r *Request) { r.Check = func(component.Resource) error { return nil } }, false},
		"with data that is generated": {func(r *Request) { r.Generate = &component.Generate{} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request()
			tt.change(&r)
			if got := a.isMatched(r); got != tt.want {
				t.Errorf("known: %t, want %t", got, tt.want)
			}
		})
	}
	t.Run("forgotten", func(t *testing.T) {
		t.Parallel()
		a := New(Options{})
		a.putMatch(component.KeyOf(request().Intent), a.matchOf(request().Live, request().Intent))
		if a.forgetMatch(component.KeyOf(request().Intent)); a.isMatched(request()) || len(a.matches) != 0 {
			t.Error("it is still known")
		}
	})
}

// TestMatchedFingerprint checks that an object whose content the cache does not have is known by its fingerprint,
// whatever its version is.
func TestMatchedFingerprint(t *testing.T) {
	t.Parallel()
	const manager = "test"
	request := func(fields, hash string) Request {
		intent := &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "a", Annotations: map[string]string{v1.SpecHashAnnotation: "1"}},
		}
		live := intent.DeepCopy()
		live.UID, live.ResourceVersion, live.Annotations = "1", "10", map[string]string{v1.SpecHashAnnotation: hash}
		live.ManagedFields = []metav1.ManagedFieldsEntry{
			{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:x":{}}}`)},
			{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(fields)},
		}
		NewFingerprints().Take(live, manager)
		return Request{Intent: intent, Live: live}
	}
	const fields = `{"f:data":{"f:a":{},"f:b":{}}}`
	a := New(Options{})
	known := request(fields, "1")
	a.putMatch(component.KeyOf(known.Intent), a.matchOf(known.Live, known.Intent))
	for name, tt := range map[string]struct {
		fields, hash string
		change       func(*Request)
		want         bool
	}{
		"the same":            {fields, "1", func(*Request) {}, true},
		"another order":       {`{"f:data":{"f:b":{},"f:a":{}}}`, "1", func(*Request) {}, true},
		"another version":     {fields, "1", func(r *Request) { r.Live.SetResourceVersion("11") }, true},
		"another's field":     {`{"f:data":{"f:a":{}}}`, "1", func(*Request) {}, false},
		"no field":            {``, "1", func(*Request) {}, false},
		"made anew":           {fields, "1", func(r *Request) { r.Live.SetUID("2") }, false},
		"another intent":      {fields, "1", func(r *Request) { r.Intent.SetAnnotations(map[string]string{v1.SpecHashAnnotation: "2"}) }, false},
		"of a former intent":  {fields, "0", func(*Request) {}, false},
		"being deleted":       {fields, "1", func(r *Request) { r.Live.SetDeletionTimestamp(new(metav1.Unix(1, 0))) }, false},
		"of no intent":        {fields, "", func(*Request) {}, false},
		"without annotations": {fields, "1", func(r *Request) { r.Live.SetAnnotations(nil) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request(tt.fields, tt.hash)
			tt.change(&r)
			if got := a.isMatched(r); got != tt.want {
				t.Errorf("known: %t, want %t", got, tt.want)
			}
		})
	}
}

// TestFingerprintsRemember checks that a fingerprint that is remembered is the one that is computed, and no more are
// remembered than the bound.
func TestFingerprintsRemember(t *testing.T) {
	t.Parallel()
	remembering := NewFingerprints()
	for range 2 {
		for i := range maxFingerprints + 1 {
			entry := metav1.ManagedFieldsEntry{
				Manager: "test", Operation: metav1.ManagedFieldsOperationApply,
				FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:data":{"f:key-%d":{}}}`, i)),
			}
			want := fingerprintOf(&entry)
			for range 2 {
				if got := remembering.ofFields([]metav1.ManagedFieldsEntry{entry}, "test"); got != want || got == 0 {
					t.Fatalf("fingerprint %d of object %d, want %d", got, i, want)
				}
			}
		}
	}
	if n := len(remembering.known); n < 2 || n > maxFingerprints {
		t.Errorf("%d fingerprints are remembered, want some, and at most %d", n, maxFingerprints)
	}
}

// TestAppliedBy checks that a fingerprint is of what a manager has applied of an object, not of its status or an update.
func TestAppliedBy(t *testing.T) {
	t.Parallel()
	fields := metav1.NewFieldsV1(`{"f:data":{}}`)
	type entry = metav1.ManagedFieldsEntry
	for name, tt := range map[string]struct {
		entry entry
		want  bool
	}{
		"applied":        {entry{Manager: "test", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: fields}, true},
		"updated":        {entry{Manager: "test", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: fields}, false},
		"of another":     {entry{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: fields}, false},
		"the status":     {entry{Manager: "test", Operation: metav1.ManagedFieldsOperationApply, Subresource: "status", FieldsV1: fields}, false},
		"without fields": {entry{Manager: "test", Operation: metav1.ManagedFieldsOperationApply}, false},
		"malformed":      {entry{Manager: "test", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1("{")}, false},
	} {
		f := NewFingerprints()
		if got := f.ofFields([]entry{{}, tt.entry}, "test"); (got != 0) != tt.want {
			t.Errorf("%s: fingerprint %d", name, got)
		}
		live := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ManagedFields: []entry{tt.entry}}}
		if got := f.of(live, "test"); (got != 0) != tt.want {
			t.Errorf("%s: the object has fingerprint %d", name, got)
		}
	}
}
