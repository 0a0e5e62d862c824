package apply

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestMatched: only the same version of the same object is known to need no write, for the same
// intent, and if nothing else counts.
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
	m := newMatched()
	if m.has(request()) {
		t.Fatal("it is known before it was seen")
	}
	m.add(request())
	for name, tt := range map[string]struct {
		change func(*Request)
		want   bool
	}{
		"the same":           {func(*Request) {}, true},
		"another version":    {func(r *Request) { r.Live.SetResourceVersion("11") }, false},
		"made anew":          {func(r *Request) { r.Live.SetUID("2") }, false},
		"another intent":     {func(r *Request) { r.Intent.SetAnnotations(map[string]string{v1.SpecHashAnnotation: "2"}) }, false},
		"an intent unhashed": {func(r *Request) { r.Intent.SetAnnotations(nil) }, false},
		"gone":               {func(r *Request) { r.Live = nil }, false},
		"another object":     {func(r *Request) { r.Intent.SetName("b") }, false},
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
			if got := m.has(r); got != tt.want {
				t.Errorf("known: %t, want %t", got, tt.want)
			}
		})
	}
	t.Run("forgotten", func(t *testing.T) {
		t.Parallel()
		m := newMatched()
		m.add(request())
		if m.forget(component.KeyOf(request().Intent)); m.has(request()) || len(m.versions) != 0 {
			t.Error("it is still known")
		}
	})
}
