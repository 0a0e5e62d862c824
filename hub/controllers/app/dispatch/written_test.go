package dispatch

import (
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestWrittenOutlivesOlderReads: what was written is remembered until the reconciler has seen it,
// also if a queue holds what it read from the cache before.
func TestWrittenOutlivesOlderReads(t *testing.T) {
	t.Parallel()
	at := func(version string) *v1.EcommerceApp {
		app := shop(1, 1, "a")
		app.ResourceVersion = version
		return app
	}
	w := newWritten()
	w.record(at("2"), "1")
	for _, last := range []write{w.of(keyOf(at("0"))), w.all()[keyOf(at("0"))]} {
		if app, ahead := last.newest(at("0")); ahead || app.ResourceVersion != "0" {
			t.Errorf("version %s counts as newer than one that is not known", app.ResourceVersion)
		}
		if app, ahead := last.newest(at("1")); !ahead || app.ResourceVersion != "2" {
			t.Errorf("version %s, want the one that was written", app.ResourceVersion)
		}
	}
	if app, ahead := w.newest(at("1")); !ahead || app.ResourceVersion != "2" {
		t.Errorf("version %s for the reconciler, want the one that was written", app.ResourceVersion)
	}
	if _, ahead := w.newest(at("2")); ahead || w.of(keyOf(at("2"))).app != nil {
		t.Error("what the cache has is remembered")
	}
}
