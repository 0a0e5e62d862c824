package state

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
)

// handedOver returns a member whose queue has a result about the copy of an application.
func handedOver() (*State, *Member) {
	s := New(clock.RealClock{})
	m := s.Connect("a", false)
	s.HandOver(decision(map[string]string{"a": "1"}))
	m.End(key(), &Result{App: "u-1", Hash: "1"})
	return s, m
}

// TestBeside checks that a written revision counts for one copy and one forced reconciliation.
func TestBeside(t *testing.T) {
	t.Parallel()
	_, m := handedOver()
	kept := v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "kept"}
	objects, _ := m.Beside(key(), "copy", "")
	objects.Written[kept] = Written{Version: "1", ResourceVersion: "7"}
	m.EndBeside(key(), objects, Result{}, false)
	for name, tt := range map[string]struct {
		copied, reconcileAt string
		want                string
	}{
		"the same copy":           {"copy", "", "1"},
		"another copy":            {"other", "", ""},
		"a forced reconciliation": {"copy", "now", ""},
	} {
		got, known := m.Beside(key(), types.UID(tt.copied), tt.reconcileAt)
		if got.Written[kept].Version != tt.want || known != (tt.want != "") {
			t.Errorf("%s: version %q, want %q", name, got.Written[kept].Version, tt.want)
		}
		got.Written[kept] = Written{Version: "changed"}
	}
}

// TestDrift checks that an object is to be compared again by each pass until it is written, if a watch has delivered
// another version than the written one since the last pass began.
func TestDrift(t *testing.T) {
	t.Parallel()
	s, m := handedOver()
	object := v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "registry"}
	if !m.SeeBeside(key(), object, "7") {
		t.Error("what is delivered about an object that is not known is no news")
	}
	m.Beside(key(), "copy", "")
	m.SeeBeside(key(), object, "7") // What the pass writes.
	end := func() {
		written := map[v1.PropagatedObject]Written{object: {Version: "1", ResourceVersion: "7", Repairs: 3}}
		m.EndBeside(key(), Beside{Copy: "copy", Written: written}, Result{}, false)
	}
	end()
	for _, step := range []struct {
		delivered   []string
		news, drift bool
	}{{nil, false, false}, {[]string{"7"}, false, false}, {[]string{"8", "7"}, false, false}, {[]string{"8"}, true, true}, {nil, false, true}, {[]string{Deleted}, true, true}} {
		news := false
		for _, version := range step.delivered {
			news = m.SeeBeside(key(), object, version)
		}
		next, known := m.Beside(key(), "copy", "")
		if got := next.Written[object]; news != step.news || !known || (got.ResourceVersion == "") != step.drift || got.Version != "1" || got.Repairs != 3 {
			t.Errorf("%+v: news %t, %+v", step, news, got)
		}
	}
	end()
	if got, _ := m.Beside(key(), "copy", ""); got.Written[object].ResourceVersion != "7" {
		t.Errorf("after it was written again: %+v", got.Written[object])
	}
	m.SeeBeside(key(), object, Deleted)
	s.Forget(key())
	m.SeeBeside(key(), object, Deleted)
	m.DropBeside(key())
	m.Beside(key(), "copy", "") // A pass that began before.
	end()
	if len(m.copies)+len(s.holders) > 0 {
		t.Error("what was delivered or written about an application that is gone is remembered")
	}
}

// TestSources checks that sources end with their application, that a reader keeps the ones that it was given, and that
// what is listed counts, whatever was read.
func TestSources(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	object, other := v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "registry"}, v1.PropagatedObject{Name: "other"}
	s.ListSources(key(), "u-1", []v1.PropagatedObject{object}, false)
	s.SetSources(key(), Sources{App: "u-1", Generation: 1, Due: time.Unix(10, 0), All: []Source{{PropagatedObject: object, Version: "1"}}})
	before := s.Sources(key(), "u-1")
	next := Source{PropagatedObject: object, Version: "2"}
	if s.ReplaceSource(key(), "u-2", next) || s.ReplaceSource(key(), "u-1", Source{PropagatedObject: other}) || s.ReplaceSource(key(), "u-1", before.All[0]) {
		t.Error("what is another's, is not listed or is the same is news")
	}
	if !s.ReplaceSource(key(), "u-1", next) || s.Sources(key(), "u-1").All[0] != next || before.All[0].Version != "1" {
		t.Errorf("replaced: %+v, before %+v", s.Sources(key(), "u-1"), before)
	}
	if got := s.Sources(key(), "u-2"); len(got.All) > 0 {
		t.Errorf("another application has %+v", got)
	}
	s.ListSources(key(), "u-1", []v1.PropagatedObject{other, object}, true)
	if !s.SetSources(key(), before) || s.SetSources(key(), before) { // It was read before the list changed.
		t.Error("what differs from what is known by now is no news, or what does not is")
	}
	known := s.Sources(key(), "u-1")
	if read, all := known.Read(); all || len(read) != 1 || !known.Partial {
		t.Errorf("read %+v of %+v", read, known)
	}
	if !s.ReplaceSource(key(), "u-1", Source{PropagatedObject: other, Version: "3"}) {
		t.Error("what was not read yet is no news")
	}
	if read, all := s.Sources(key(), "u-1").Read(); !all || read[0].Version != "3" {
		t.Errorf("read %+v", read)
	}
	if s.ListSources(key(), "u-1", nil, false); len(s.Sources(key(), "u-1").All) > 0 {
		t.Error("what is not listed any more is remembered")
	}
	s.Forget(key())
	s.SetSources(key(), before)
	if s.ReplaceSource(key(), "u-1", next); len(s.apps) > 0 {
		t.Error("an application that is gone is remembered again")
	}
}

// TestSourcesAreDue checks that sources are read when that is due, for each generation and each forced
// reconciliation.
func TestSourcesAreDue(t *testing.T) {
	t.Parallel()
	object := v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "registry"}
	for name, tt := range map[string]struct {
		change func(*v1.EcommerceApp, *Sources)
		due    bool
	}{
		"nothing":                 {func(*v1.EcommerceApp, *Sources) {}, false},
		"the time":                {func(_ *v1.EcommerceApp, s *Sources) { s.Due = time.Unix(5, 0) }, true},
		"an edit":                 {func(a *v1.EcommerceApp, _ *Sources) { a.Generation++ }, true},
		"a forced reconciliation": {func(a *v1.EcommerceApp, _ *Sources) { a.Annotations = map[string]string{v1.ReconcileAtAnnotation: "1"} }, true},
		"another object":          {func(_ *v1.EcommerceApp, s *Sources) { s.Listed = append(s.Listed, v1.PropagatedObject{}) }, true},
	} {
		app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
		s := Sources{Listed: []v1.PropagatedObject{object}, Generation: 1, Due: time.Unix(10, 0), All: []Source{{PropagatedObject: object}}}
		tt.change(app, &s)
		if got := s.IsDue(app, time.Unix(5, 0)); got != tt.due {
			t.Errorf("%s: due %t", name, got)
		}
	}
}

// TestOwner checks that objects are written beside a copy once it is as the present order says, and the result about
// them is news if the status shows something else.
func TestOwner(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	m := s.Connect("a", false)
	hand := func(hash string) {
		app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: key().Namespace, Name: key().Name, UID: "u-1"}}
		app.Spec.Propagate = []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "registry"}}
		s.HandOver(&Decision{App: app, Orders: map[string]*Order{"a": {Hash: hash}}})
	}
	want := func(what string, owned bool) {
		t.Helper()
		if d, owner := m.Owner(key()); (owner != nil) != owned || owned && !d.IsOf("u-1") {
			t.Errorf("%s: objects may be written beside %+v", what, owner)
		}
	}
	want("no order", false)
	hand("1")
	want("no result", false)
	m.End(key(), &Result{App: "u-1", Hash: "1", Owner: &Owner{UID: "copy"}})
	want("the copy is there", true)
	if owners := m.Owners(); len(owners) != 1 {
		t.Errorf("owners %v before the first pass: a queue that starts again would not write beside them", owners)
	}
	hand("2")
	want("another order", false)
	m.End(key(), &Result{App: "u-1", Hash: "2"})
	want("the copy was not written", false)
	m.End(key(), &Result{App: "u-1", Hash: "2", Owner: &Owner{UID: "copy"}})
	objects, _ := m.Beside(key(), "copy", "")
	failed := Result{App: "u-1", Hash: "2", Failure: &aggregate.Failure{Reason: "Conflict"}}
	fixed := Result{App: "u-1", Hash: "3"}
	for i, step := range []struct {
		result   Result
		conflict bool
		news     bool
		inRow    int
	}{{Result{App: "u-1", Hash: "2"}, true, false, 1}, {failed, true, true, 2}, {failed, false, false, 0}, {fixed, true, true, 1}} {
		if inRow, news := m.EndBeside(key(), objects, step.result, step.conflict); news != step.news || inRow != step.inRow {
			t.Errorf("step %d: news %t, conflicts %d", i, news, inRow)
		}
	}
	if owners := m.Owners(); len(owners) != 1 || m.BesideResult(key(), "u-1").Hash != "3" || m.BesideResult(key(), "u-2").Hash != "" {
		t.Errorf("owners %v, result %+v", owners, m.BesideResult(key(), "u-1"))
	}
}
