package copies

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestReportedStatuses: a status that is about to be written counts until the cache has another version
// of the copy. In a paused member it is not written, and counts until another one is handed over.
func TestReportedStatuses(t *testing.T) {
	t.Parallel()
	copied := func(version, message string) *v1.EcommerceApp {
		app := &v1.EcommerceApp{Status: v1.EcommerceAppStatus{Message: message}}
		app.UID, app.ResourceVersion = "c-1", version
		return app
	}
	for name, tt := range map[string]struct {
		paused  bool
		version string
		seen    []string
		// want holds the message of the status that counts for the version, and known how many are kept.
		want  string
		known int
	}{
		"about to be written":               {version: "5", want: "new", known: 1},
		"the cache is behind":               {version: "4"},
		"behind, and then not":              {version: "5", seen: []string{"4"}, known: 0},
		"the version that it replaces":      {version: "5", seen: []string{"5"}, want: "new", known: 1},
		"written":                           {version: "6", seen: []string{"6"}},
		"paused":                            {paused: true, version: "5", want: "new", known: 1},
		"paused, and written to by another": {paused: true, version: "6", seen: []string{"6"}, want: "new", known: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReportedStatuses(tt.paused)
			r.set(copied("5", "new"))
			if tt.seen == nil && len(r.known) != 1 {
				t.Error("it is not kept")
			}
			for _, version := range tt.seen {
				r.see(copied(version, "old"))
			}
			got := ""
			if status := r.of(copied(tt.version, "old")); status != nil {
				got = status.Message
			}
			if got != tt.want || tt.seen != nil && len(r.known) != tt.known {
				t.Errorf("%q counts, and %d are kept; want %q and %d", got, len(r.known), tt.want, tt.known)
			}
			if r.forget("c-1"); r.of(copied("5", "old")) != nil {
				t.Error("it is known after it was forgotten")
			}
		})
	}
}

// TestConcerns: the status of a copy is nothing that the member's queue compares, and one that was reported
// is no news for the reconciler of applications.
func TestConcerns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change            func(*v1.EcommerceApp)
		queue, reconciler bool
	}{
		"the status that was reported": {func(a *v1.EcommerceApp) { a.Status.Message = "reported" }, false, false},
		"another status":               {func(a *v1.EcommerceApp) { a.Status.Message = "another" }, false, true},
		"the spec":                     {func(a *v1.EcommerceApp) { a.Generation, a.Status.Message = 2, "reported" }, true, true},
		"a label":                      {func(a *v1.EcommerceApp) { a.Labels, a.Status.Message = nil, "reported" }, true, true},
		"an annotation":                {func(a *v1.EcommerceApp) { a.Annotations = map[string]string{"a": "b"} }, true, true},
		"a finalizer":                  {func(a *v1.EcommerceApp) { a.Finalizers = nil }, true, true},
		"its deletion":                 {func(a *v1.EcommerceApp) { a.DeletionTimestamp = new(metav1.Unix(1, 0)) }, true, true},
		"another copy":                 {func(a *v1.EcommerceApp) { a.UID = "c-2" }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{
				UID: "c-1", ResourceVersion: "5", Generation: 1, Labels: map[string]string{"a": "b"}, Finalizers: []string{"f"},
			}}
			reported, after := before.DeepCopy(), before.DeepCopy()
			reported.Status.Message, after.ResourceVersion = "reported", "6"
			tt.change(after)
			r := newReportedStatuses(false)
			r.set(reported)
			if queue, reconciler := concerns(before, after, r.see(after)); queue != tt.queue || reconciler != tt.reconciler {
				t.Errorf("queue %t, reconciler %t; want %t, %t", queue, reconciler, tt.queue, tt.reconciler)
			}
		})
	}
	if queue, reconciler := concerns(nil, &v1.EcommerceApp{}, true); !queue || !reconciler {
		t.Error("a new copy concerns neither")
	}
}
