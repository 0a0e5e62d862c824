package state

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/propagate"
)

// TestBeside checks that a written revision counts for one copy and one forced reconciliation.
func TestBeside(t *testing.T) {
	t.Parallel()
	m := New(clock.RealClock{}).Connect("a", false)
	kept := v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "kept"}
	objects := m.Beside(key(), "copy", "")
	objects.Written[kept] = Written{Version: "1", ResourceVersion: "7"}
	m.SetBeside(key(), objects)
	for name, tt := range map[string]struct {
		copied, reconcileAt string
		want                string
	}{
		"the same copy":           {"copy", "", "1"},
		"another copy":            {"other", "", ""},
		"a forced reconciliation": {"copy", "now", ""},
	} {
		got := m.Beside(key(), types.UID(tt.copied), tt.reconcileAt)
		if got.Written[kept].Version != tt.want {
			t.Errorf("%s: version %q, want %q", name, got.Written[kept].Version, tt.want)
		}
		got.Written[kept] = Written{Version: "changed"}
	}
}

// TestDrift checks that an object has drifted if a watch has delivered another version than the written one since it
// was compared.
func TestDrift(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	m, object := s.Connect("a", false), v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "registry"}
	if !m.SeeBeside(key(), object, "7") || len(m.copies) > 0 {
		t.Error("what is delivered about a copy that is not known is no news, or is remembered")
	}
	objects := m.Beside(key(), "copy", "")
	objects.Written[object] = Written{Version: "1", ResourceVersion: "7"}
	m.SetBeside(key(), objects)
	for _, step := range []struct {
		delivered   string
		news, drift bool
	}{{"7", false, false}, {"8", true, true}, {"7", false, false}, {Deleted, true, true}} {
		news := m.SeeBeside(key(), object, step.delivered)
		if drift := m.HasDrifted(key(), object, objects.Written[object]); news != step.news || drift != step.drift {
			t.Errorf("version %s: news %t, drift %t, want %+v", step.delivered, news, drift, step)
		}
	}
	m.CompareBeside(key(), object)
	if m.HasDrifted(key(), object, objects.Written[object]) {
		t.Error("an object that is being compared has drifted")
	}
	m.SeeBeside(key(), object, Deleted)
	s.Forget(key())
	m.SeeBeside(key(), object, Deleted)
	m.SetBeside(key(), objects)
	m.DropBeside(key())
	if len(m.copies) > 0 {
		t.Error("what was delivered or written about an application that is gone is remembered")
	}
}

// TestSources checks that sources end with their application, and that a reader keeps the ones that it was given.
func TestSources(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	object := v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "registry"}
	s.SetSources(key(), Sources{App: "u-1", All: []propagate.Source{{PropagatedObject: object, Version: "1"}}})
	before := s.Sources(key(), "u-1")
	next := propagate.Source{PropagatedObject: object, Version: "2"}
	s.ReplaceSource(key(), "u-2", next)
	s.ReplaceSource(key(), "u-1", propagate.Source{PropagatedObject: v1.PropagatedObject{Name: "other"}})
	if got := s.Sources(key(), "u-1"); len(got.All) != 1 || got.All[0].Version != "1" {
		t.Errorf("replaced by what is another's: %+v", got)
	}
	s.ReplaceSource(key(), "u-1", next)
	if got := s.Sources(key(), "u-1"); got.All[0].Version != "2" || before.All[0].Version != "1" || got.Signature() == before.Signature() {
		t.Errorf("replaced: %+v, before %+v", got, before)
	}
	if got := s.Sources(key(), "u-2"); len(got.All) > 0 {
		t.Errorf("another application has %+v", got)
	}
	if s.Forget(key()); len(s.Sources(key(), "u-1").All) > 0 {
		t.Error("the sources outlive their application")
	}
	if s.ReplaceSource(key(), "u-1", next); len(s.apps) > 0 {
		t.Error("an application that is gone is remembered again")
	}
}
