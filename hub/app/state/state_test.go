package state

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
)

func key() types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: "shop"} }

// shop makes an application of a generation with clusters in its status.
func shop(generation, observed int64, clusters ...string) *v1.EcommerceApp {
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop", UID: "u-1", Generation: generation}}
	app.Status.ObservedGeneration = observed
	for _, name := range clusters {
		app.Status.Clusters = append(app.Status.Clusters, v1.ClusterStatus{Name: name})
	}
	return app
}

// decision makes one with the hash of the order about each member.
func decision(hashes map[string]string) *Decision {
	d := &Decision{App: shop(1, 1), Orders: map[string]*Order{}}
	for name, hash := range hashes {
		d.Orders[name] = &Order{Hash: hash}
	}
	return d
}

// TestHandOver compares with what queues did: one that has a result about another order, or none, is concerned each
// time, also if nothing has changed since the last Decision.
func TestHandOver(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	a := s.Connect("a", false)
	expect := func(what string, hash string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, s.HandOver(decision(map[string]string{"a": hash, "away": "h"}))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	expect("without a result", "1", "a")
	expect("without a result, again", "1", "a")
	a.Begin(key())
	expect("while a worker acts on it", "1")
	expect("while a worker acts on another", "2", "a")
	a.End(key(), &Result{App: "u-1", Hash: "1"})
	expect("a result about another", "2", "a")
	a.Begin(key())
	a.End(key(), &Result{App: "u-1", Hash: "2", Failure: &aggregate.Failure{Reason: "Failed"}})
	expect("a result, though of a failure", "2")
	s.Await(key(), "a", true)
	expect("a queue that waits", "2", "a")
	expect("which it does once", "2")
	if concerned := s.HandOver(decision(nil)); !cmp.Equal(concerned, []string{"a"}) {
		t.Errorf("a copy without an order concerns %v", concerned)
	}
	a.End(key(), nil)
	if concerned := s.HandOver(decision(nil)); len(concerned) > 0 {
		t.Errorf("what is dropped concerns %v", concerned)
	}
	a.Close()
	expect("a connection that ended", "3")
}

// TestResultsAreAboutOneOrder checks that an absence or an apply counts for its order only, also if the same order
// comes again.
func TestResultsAreAboutOneOrder(t *testing.T) {
	t.Parallel()
	done := &Result{App: "u-1", Hash: "1", Gone: true, Applied: true}
	for name, tt := range map[string]struct {
		act  func(*State, *Member)
		want bool
	}{
		"the order stays": {func(_ *State, m *Member) { m.Begin(key()); m.End(key(), done) }, true},
		"another order since": {func(s *State, m *Member) {
			m.Begin(key())
			m.End(key(), done)
			s.HandOver(decision(map[string]string{"a": "2"}))
		}, false},
		"another order while the worker acts": {func(s *State, m *Member) {
			m.Begin(key())
			s.HandOver(decision(map[string]string{"a": "2"}))
			m.End(key(), done)
		}, false},
		"another order, and the same again": {func(s *State, m *Member) {
			m.Begin(key())
			m.End(key(), done)
			s.HandOver(decision(map[string]string{"a": "2"}))
			s.HandOver(decision(map[string]string{"a": "1"}))
		}, false},
		"another order that no worker began": {func(s *State, m *Member) {
			m.Begin(key())
			s.HandOver(decision(map[string]string{"a": "2"}))
			s.HandOver(decision(map[string]string{"a": "1"}))
			m.End(key(), done)
		}, true},
		"no decision any more": {func(s *State, m *Member) {
			m.Begin(key())
			s.ForgetDecision(key())
			m.End(key(), done)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := New(clock.RealClock{})
			m := s.Connect("a", false)
			s.HandOver(decision(map[string]string{"a": "1"}))
			tt.act(s, m)
			got, known := m.Result(key(), "u-1")
			if !known || got.Gone != tt.want || got.Applied != tt.want || (got.Hash == "1") != tt.want {
				t.Errorf("known %t, %+v; want that it counts: %t", known, got, tt.want)
			}
			if _, known := m.Result(key(), "u-2"); known {
				t.Error("a result about another application of the same name counts")
			}
		})
	}
}

// TestNews checks that an equal result is no news, except an absence, which ends the entry.
func TestNews(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	m := s.Connect("a", false)
	s.HandOver(decision(map[string]string{"a": "1"}))
	failed := func() *Result {
		return &Result{App: "u-1", Hash: "1", Failure: &aggregate.Failure{Reason: v1.ReasonForbidden, Message: "no"}}
	}
	for i, step := range []struct {
		next *Result
		want bool
	}{
		{&Result{App: "u-1", Hash: "1"}, true},
		{&Result{App: "u-1", Hash: "1"}, false},
		{failed(), true},
		{failed(), false},
		{&Result{App: "u-1", Hash: "1", Gone: true}, true},
		{&Result{App: "u-1", Hash: "1", Gone: true}, true},
		{&Result{App: "u-2", Hash: "1"}, true},
		{nil, true},
		{nil, false},
	} {
		m.Begin(key())
		if _, news := m.End(key(), step.next); news != step.want {
			t.Errorf("step %d: news %t, want %t", i, news, step.want)
		}
	}
}

// TestDecisionsAreTheirOwn checks that what the maker of a Decision changes later does not reach the queues, which
// share the memory of a spec with the cache.
func TestDecisionsAreTheirOwn(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	delivered := shop(1, 1)
	delivered.Spec.Database = &v1.Database{Version: "17.2"}
	s.Deliver(nil, delivered)
	for name, change := range map[string]func(*v1.EcommerceApp){"as delivered": func(*v1.EcommerceApp) {}, "another": func(app *v1.EcommerceApp) { app.Spec.Image = "shop:v2" }} {
		app := delivered.DeepCopy()
		app.Annotations = map[string]string{"a": "b"}
		change(app)
		s.HandOver(&Decision{App: app})
		app.Annotations["a"], app.Spec.Database.Version = "c", "18.0"
		got := s.Decision(key()).App
		if got.Annotations["a"] != "b" || got.Spec.Database.Version != "17.2" || (got.Spec.Database == delivered.Spec.Database) != (name == "as delivered") {
			t.Errorf("%s: %+v with %+v", name, got.Annotations, got.Spec.Database)
		}
	}
}

// TestConcerned lists the applications of a member, those first of which it has missed something, and those that may
// be decided by any.
func TestConcerned(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	for name, order := range map[string]*Order{"missed": {}, "deleted": {Applied: 1, Delete: true}, "applied": {Applied: 1}, "elsewhere": nil, "waits": nil, "new": nil} {
		app := shop(1, 1)
		app.Name = name
		s.Deliver(nil, app)
		d := &Decision{App: app, Orders: map[string]*Order{}}
		if order != nil {
			d.Orders["a"] = order
		}
		if name != "new" {
			s.HandOver(d)
		}
	}
	s.Await(types.NamespacedName{Namespace: "ns", Name: "waits"}, "b", true)
	pending, others, open := s.Concerned("a")
	named := func(keys []types.NamespacedName) map[string]bool {
		names := map[string]bool{}
		for _, k := range keys {
			names[k.Name] = true
		}
		return names
	}
	got := []map[string]bool{named(pending), named(others), named(open)}
	want := []map[string]bool{{"missed": true, "deleted": true}, {"applied": true}, {"waits": true, "new": true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pending, others, open (-want +got):\n%s", diff)
	}
}

// TestLookups checks that a lookup is of one application, and ends when the application is decided.
func TestLookups(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	m := s.Connect("a", false)
	if got := m.Ask(key(), "u-1"); got != recovery.NotLooked || m.Asked(key()) != "u-1" {
		t.Errorf("before any lookup: %d, asked for %q", got, m.Asked(key()))
	}
	for i, step := range []struct {
		found recovery.Presence
		news  bool
	}{{recovery.Uncertain, true}, {recovery.Uncertain, false}, {recovery.Present, true}, {recovery.Absent, true}} {
		if news := m.Answer(key(), "u-1", step.found); news != step.news {
			t.Errorf("step %d: news %t, want %t", i, news, step.news)
		}
	}
	if got := m.Ask(key(), "u-1"); got != recovery.Absent || m.Answer(key(), "u-2", recovery.Present) {
		t.Errorf("the last lookup found %d, want %d, and an answer about another application does not count", got, recovery.Absent)
	}
	if got := m.Ask(key(), "u-2"); got != recovery.NotLooked {
		t.Errorf("a lookup of another application of the name found %d", got)
	}
	if s.HandOver(decision(map[string]string{"a": "1"})); m.Asked(key()) != "" {
		t.Error("decided, and still asked for")
	}
}

// TestWritesAreSeen checks that a cached version that the hub has replaced is behind until the watch delivers another
// one.
func TestWritesAreSeen(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	at := func(version string) *v1.EcommerceApp {
		app := shop(1, 1)
		app.ResourceVersion = version
		return app
	}
	expect := func(cached string, behind bool) {
		t.Helper()
		if got := s.IsBehind(at(cached)); got != behind {
			t.Errorf("the cache has version %s: behind %t, want %t", cached, got, behind)
		}
	}
	expect("1", false)
	// The finalizer replaces 1, and the status 2.
	s.Written(at("2"), "1")
	s.Written(at("3"), "2")
	expect("1", true)
	expect("2", true)
	expect("3", false)
	expect("1", false)      // What was delivered is forgotten.
	s.Written(at("3"), "3") // A write that changed nothing.
	expect("3", false)
	s.Written(at("5"), "4")
	other := at("4")
	other.UID = "u-2"
	if s.IsBehind(other) {
		t.Error("an application that was created anew is behind")
	}
}

// TestFanOut measures from when a spec is first seen, and not a change of the fleet.
func TestFanOut(t *testing.T) {
	t.Parallel()
	c := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	s := New(c)
	since := func(app *v1.EcommerceApp) time.Duration {
		d, ok := s.Since(app)
		if !ok {
			return -1
		}
		return d
	}
	s.Deliver(nil, shop(1, 0))
	c.SetTime(time.Unix(1002, 0))
	s.Deliver(shop(1, 0), shop(1, 1, "a", "b"))
	if got := since(shop(1, 1, "a", "b")); got != 2*time.Second {
		t.Errorf("creation: %s, want 2s", got)
	}
	// A member that joins an hour later is not slow.
	c.SetTime(time.Unix(4600, 0))
	s.Deliver(shop(1, 1, "a", "b"), shop(1, 1, "a", "b", "c"))
	if got := since(shop(1, 1, "a", "b", "c")); got != -1 {
		t.Errorf("a change of the fleet counts as %s", got)
	}
	s.Deliver(shop(1, 1, "a", "b", "c"), shop(2, 1, "a", "b", "c"))
	c.SetTime(time.Unix(4601, 0))
	if got := since(shop(2, 1, "a", "b", "c")); got != time.Second {
		t.Errorf("edit: %s, want 1s", got)
	}
	s.Forget(key())
	if got := since(shop(2, 1)); got != -1 {
		t.Errorf("forgotten, and still %s", got)
	}
}

// TestLastStatus checks that the time of the last status is that of its application, until the application is forgotten.
func TestLastStatus(t *testing.T) {
	t.Parallel()
	c := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	s := New(c)
	s.StatusWritten(key())
	c.SetTime(time.Unix(1005, 0))
	if got := s.LastStatus(key()); !got.Equal(time.Unix(1000, 0)) {
		t.Errorf("the last status was written at %s", got)
	}
	if got := s.LastStatus(types.NamespacedName{Name: "another"}); !got.IsZero() {
		t.Errorf("the last status of another application was written at %s, want none", got)
	}
	s.Forget(key())
	if got := s.LastStatus(key()); !got.IsZero() {
		t.Errorf("the last status of a forgotten application was written at %s, want none", got)
	}
}

// TestUntilResults checks that the first status of an application waits for the members that are connected, and no
// other one does.
func TestUntilResults(t *testing.T) {
	t.Parallel()
	c := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	s := New(c)
	a, b := s.Connect("a", false), s.Connect("b", false)
	app := shop(1, 0)
	expect := func(what string, app *v1.EcommerceApp, want time.Duration) {
		t.Helper()
		if got := s.UntilResults(app, time.Second); got != want || (s.Ahead(app) == nil) != (want == 0 && what != "acted") {
			t.Errorf("%s: waits for %s, want %s", what, got, want)
		}
		c.SetTime(c.Now().Add(100 * time.Millisecond))
	}
	handOver := func(hash string, ahead bool) {
		d := decision(map[string]string{"a": hash, "b": hash, "away": hash})
		d.Ahead = ahead
		s.HandOver(d)
	}
	expect("without a decision", app, 0)
	handOver("1", false)
	expect("the status has the clusters", app, 0)
	handOver("2", true)
	expect("just handed over", app, time.Second)
	expect("later", app, 900*time.Millisecond)
	handOver("3", true)
	expect("handed over again", app, 800*time.Millisecond)
	a.End(key(), &Result{App: "u-1", Hash: "3"})
	expect("one is missing", app, 700*time.Millisecond)
	expect("a status is stored", shop(1, 1, "a"), 0)
	other := shop(1, 0)
	other.UID = "u-2"
	expect("another application", other, 0)
	b.End(key(), &Result{App: "u-1", Hash: "2"})
	expect("a result about another order", app, 400*time.Millisecond)
	b.End(key(), &Result{App: "u-1", Hash: "3"})
	expect("acted", app, 0)
	b.Begin(key())
	handOver("4", true)
	c.SetTime(time.Unix(2000, 0))
	if got := s.UntilResults(app, time.Second); got != 0 {
		t.Errorf("waits for %s after the limit", got)
	}
	edited, deleted := shop(2, 0), shop(1, 0)
	deleted.DeletionTimestamp = &metav1.Time{}
	handOver("5", false)
	handOver("6", true)
	for name, app := range map[string]*v1.EcommerceApp{"edited": edited, "deleted": deleted} {
		if got := s.UntilResults(app, time.Second); got != 0 {
			t.Errorf("%s: waits for %s", name, got)
		}
	}
}
