package copies

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestConcerns checks that the status of a copy is nothing that the member's queue compares, and one that was
// reported is no news for the reconciler of applications.
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
		"the first start of its database": {func(a *v1.EcommerceApp) {
			a.Status.Message, a.Status.StartedServer = "reported", new(a.Spec.Database.Server())
		}, false, true},
		"a start of another server": {func(a *v1.EcommerceApp) {
			a.Status.Message, a.Status.StartedServer = "reported", &v1.DatabaseServer{Version: "8.4.2", Image: "mysql:8.4.2"}
		}, true, true},
		"a server that has not started": {func(a *v1.EcommerceApp) {
			a.Status.Message, a.Status.ObservedGeneration = "reported", 1
			a.Status.StartedServer = &v1.DatabaseServer{Version: "8.4.2", Image: "mysql:8.4.2"}
		}, true, true},
		"its deletion": {func(a *v1.EcommerceApp) { a.DeletionTimestamp = new(metav1.Unix(1, 0)) }, true, true},
		"another copy": {func(a *v1.EcommerceApp) { a.UID = "c-2" }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{
				UID: "c-1", ResourceVersion: "5", Generation: 1, Labels: map[string]string{"a": "b"}, Finalizers: []string{"f"},
			}, Spec: v1.EcommerceAppSpec{Database: &v1.Database{Engine: v1.EngineMySQL, Version: "8.4.3"}}}
			reported, after := before.DeepCopy(), before.DeepCopy()
			reported.Status.Message, after.ResourceVersion = "reported", "6"
			tt.change(after)
			m := newMemory("a")
			m.SetStatus(reported)
			if queue, reconciler := concerns(before, after, m.SeeStatus(after)); queue != tt.queue || reconciler != tt.reconciler {
				t.Errorf("queue %t, reconciler %t; want %t, %t", queue, reconciler, tt.queue, tt.reconciler)
			}
		})
	}
	if queue, reconciler := concerns(nil, &v1.EcommerceApp{}, true); !queue || !reconciler {
		t.Error("a new copy concerns neither")
	}
}

// TestWakes checks which queues a change of a copy wakes: none after the end of the connection.
func TestWakes(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	before := copyWithStatus("u-1", "c-1")
	edited := before.DeepCopy()
	edited.Generation++
	progress := before.DeepCopy()
	progress.Status.Message = "starting"
	for name, tt := range map[string]struct {
		ended             bool
		before, after     any
		queue, reconciler int
	}{
		"a new one":        {false, nil, before, 1, 1},
		"an edit":          {false, before, edited, 1, 1},
		"a status":         {false, before, progress, 0, 1},
		"after the end":    {true, nil, before, 0, 0},
		"another object":   {false, nil, "text", 0, 0},
		"another, the end": {true, nil, "text", 0, 0},
	} {
		m, ctx := &MemberQueue{memory: newMemory("a")}, t.Context()
		if tt.ended {
			ctx = ended
		}
		var queue, reconciler int
		m.wakes(func(reconcile.Request) { queue++ }, func(reconcile.Request) { reconciler++ })(ctx, tt.before, tt.after)
		if queue != tt.queue || reconciler != tt.reconciler {
			t.Errorf("%s: the queue %d times, want %d; the reconciler %d, want %d", name, queue, tt.queue, reconciler, tt.reconciler)
		}
	}
}
