package controller

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestChanges checks that updates pass if they changed what counts, and other events always.
func TestChanges(t *testing.T) {
	t.Parallel()
	p := Changes(func(before, now *v1.EcommerceApp) bool { return before.Generation != now.Generation })
	app := func(generation int64) client.Object {
		app := &v1.EcommerceApp{}
		app.Generation = generation
		return app
	}
	for name, tt := range map[string]struct{ got, want bool }{
		"changed":         {p.Update(event.UpdateEvent{ObjectOld: app(1), ObjectNew: app(2)}), true},
		"unchanged":       {p.Update(event.UpdateEvent{ObjectOld: app(1), ObjectNew: app(1)}), false},
		"of another type": {p.Update(event.UpdateEvent{ObjectOld: &v1.Backup{}, ObjectNew: &v1.Backup{}}), true},
		"created":         {p.Create(event.CreateEvent{Object: app(1)}), true},
		"deleted":         {p.Delete(event.DeleteEvent{Object: app(1)}), true},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: passes %t, want %t", name, tt.got, tt.want)
		}
	}
}
