package copies

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
	w.record(at("2"), "1", false)
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

// TestPlansEnd: the decision after a plan concerns all members again, as what is stored may differ.
func TestPlansEnd(t *testing.T) {
	t.Parallel()
	at := func(version string) *v1.EcommerceApp {
		app := shop(1, 1, "a")
		app.ResourceVersion = version
		return app
	}
	for name, tt := range map[string]struct {
		end     func(*Dispatcher)
		planned bool
		want    []string
	}{
		"the cache has the metadata":  {func(d *Dispatcher) { d.Newest(at("2")) }, true, nil},
		"the status was not written":  {func(d *Dispatcher) { d.EndPlan(keyOf(at("2"))) }, false, []string{"a"}},
		"the application was changed": {func(d *Dispatcher) { d.Newest(at("3")) }, false, []string{"a"}},
		"the status was written":      {func(d *Dispatcher) { d.Written(at("3"), "2") }, false, nil},
		"metadata was written":        {func(d *Dispatcher) { d.WrittenMetadata(at("3"), "2"); d.Newest(at("2")) }, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := New(nil, Options{})
			d.Plan(at("2"))
			tt.end(d)
			if got := d.Planned(at("2")); got != tt.planned {
				t.Errorf("planned: %t, want %t", got, tt.planned)
			}
			if diff := cmp.Diff(tt.want, d.decisions.replace(at("2"), "")); diff != "" {
				t.Errorf("the next decision concerns (-want +got):\n%s", diff)
			}
		})
	}
}
