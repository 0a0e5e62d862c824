package state

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
)

// TestStillFails checks that the last failure stays while attempts at the same order end without a reason, and write
// nothing.
func TestStillFails(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(schema.GroupResource{}, "shop", errors.New("newer"))
	denied, other := &aggregate.Failure{Reason: v1.ReasonForbidden}, &aggregate.Failure{Reason: v1.ReasonApplyFailed}
	last := Result{App: "u-1", Hash: "1", Failure: denied}
	for name, tt := range map[string]struct {
		last, next Result
		err        error
		want       *aggregate.Failure
	}{
		"a conflict":                  {last, Result{App: "u-1", Hash: "1"}, conflict, denied},
		"no error":                    {last, Result{App: "u-1", Hash: "1"}, nil, nil},
		"another failure":             {last, Result{App: "u-1", Hash: "1", Failure: other}, conflict, other},
		"written, and then an error":  {last, Result{App: "u-1", Hash: "1", Applied: true}, conflict, nil},
		"another order":               {last, Result{App: "u-1", Hash: "2"}, conflict, nil},
		"another application":         {last, Result{App: "u-2", Hash: "1"}, conflict, nil},
		"nothing failed before":       {Result{App: "u-1", Hash: "1"}, Result{App: "u-1", Hash: "1"}, conflict, nil},
		"nothing is known of before":  {Result{}, Result{App: "u-1", Hash: "1"}, conflict, nil},
		"a failure, after no failure": {Result{}, Result{App: "u-1", Hash: "1", Failure: other}, conflict, other},
	} {
		if tt.next.Follow(tt.last, tt.err, time.Unix(1, 0), LastingAfter); tt.next.Failure != tt.want {
			t.Errorf("%s: %+v, want %+v", name, tt.next.Failure, tt.want)
		}
	}
}

// TestDiffers checks that a result is news if one thing in it is another.
func TestDiffers(t *testing.T) {
	t.Parallel()
	result := func() Result {
		return Result{App: "u-1", Hash: "1", Unknown: "u/1", Failure: &aggregate.Failure{Reason: "a"}, Pending: []v1.PendingChange{{Kind: "a"}}, Kept: Kept{Generation: 1}}
	}
	for name, tt := range map[string]struct {
		change func(*Result)
		want   bool
	}{
		"nothing":     {func(*Result) {}, false},
		"application": {func(r *Result) { r.App = "u-2" }, true},
		"order":       {func(r *Result) { r.Hash = "2" }, true},
		"absence":     {func(r *Result) { r.Gone = true }, true},
		"presence":    {func(r *Result) { r.Applied = true }, true},
		"origin":      {func(r *Result) { r.Unknown = "" }, true},
		"generation":  {func(r *Result) { r.Kept = Kept{} }, true},
		"failure":     {func(r *Result) { r.Failure = nil }, true},
		"pending":     {func(r *Result) { r.Pending = nil }, true},
		"the owner":   {func(r *Result) { r.Owner = &Owner{} }, false},
	} {
		last, next := result(), result()
		if tt.change(&next); last.differs(&next) != tt.want {
			t.Errorf("%s: differs: %t", name, !tt.want)
		}
	}
}

// TestIsBehind checks which queues are to look at an order.
func TestIsBehind(t *testing.T) {
	t.Parallel()
	order := &Order{Hash: "1"}
	for name, tt := range map[string]struct {
		copied *copied
		order  *Order
		want   bool
	}{
		"nothing is known":                {nil, order, true},
		"nor ordered":                     {nil, nil, false},
		"no order, and a lookup":          {&copied{}, nil, false},
		"no order, and a result":          {&copied{result: &Result{}}, nil, true},
		"no result":                       {&copied{}, order, true},
		"a result":                        {&copied{result: &Result{Hash: "1"}}, order, false},
		"a result about another order":    {&copied{result: &Result{Hash: "0"}}, order, true},
		"a worker is about it":            {&copied{acting: "1", result: &Result{Hash: "0"}}, order, false},
		"a worker is about another order": {&copied{acting: "0", result: &Result{Hash: "0"}}, order, true},
	} {
		if got := tt.copied.isBehind(tt.order); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestOutdated checks that a result about another order no longer counts in any member, whichever is visited first.
func TestOutdated(t *testing.T) {
	t.Parallel()
	for range 20 {
		s := New(clock.RealClock{})
		s.Connect("idle", false)
		m := s.Connect("a", false)
		s.HandOver(decision(map[string]string{"a": "1"}))
		m.End(key(), &Result{App: "u-1", Hash: "1", Applied: true})
		s.HandOver(decision(map[string]string{"a": "2", "idle": "2"}))
		if found, known := m.Result(key(), "u-1"); !known || found.Hash != "" || found.Applied {
			t.Fatalf("the result is %+v after another order", found)
		}
	}
}

// TestOwners checks which applications have something to write or delete beside their copies.
func TestOwners(t *testing.T) {
	t.Parallel()
	secret := []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "registry"}}
	for name, tt := range map[string]struct {
		propagate []v1.PropagatedObject
		result    *Result
		undecided bool
		want      bool
	}{
		"to write":            {secret, &Result{Owner: &Owner{}}, false, true},
		"to delete":           {nil, &Result{Owner: &Owner{Leftover: secret}}, false, true},
		"both":                {secret, &Result{Owner: &Owner{Leftover: secret}}, false, true},
		"neither":             {nil, &Result{Owner: &Owner{}}, false, false},
		"not beside the copy": {secret, &Result{}, false, false},
		"no result":           {secret, nil, false, false},
		"undecided":           {secret, &Result{Owner: &Owner{}}, true, false},
	} {
		s := New(clock.RealClock{})
		m := s.Connect("a", false)
		d := decision(map[string]string{"a": "1"})
		d.App.Spec.Propagate = tt.propagate
		s.HandOver(d)
		m.Begin(key())
		if tt.result != nil {
			tt.result.App, tt.result.Hash = "u-1", "1"
			m.End(key(), tt.result)
		}
		if tt.undecided {
			s.ForgetDecision(key())
		}
		if got := m.Owners(); (len(got) == 1) != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestIsPruned checks that an object is known to be deleted beside one copy alone, and that what a watch delivers before
// anything was compared is news.
func TestIsPruned(t *testing.T) {
	t.Parallel()
	_, m := handedOver()
	object := v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "registry"}
	pruned := func(copied types.UID) bool { return m.IsPruned(key(), copied, object) }
	if pruned("copy") || m.IsPruned(types.NamespacedName{}, "copy", object) || !m.SeeBeside(key(), object, "7") {
		t.Error("something is known before the first pass")
	}
	next, _ := m.Beside(key(), "copy", "")
	next.Pruned[object] = true
	m.EndBeside(key(), next, Result{}, false)
	if !pruned("copy") || pruned("another") || m.IsPruned(key(), "copy", v1.PropagatedObject{}) {
		t.Error("the object is not known to be deleted, or for another copy, or another is")
	}
}

// TestListedAgain checks that what was read of sources stays while the same are listed, and while what a revision lists is
// not known.
func TestListedAgain(t *testing.T) {
	t.Parallel()
	listed := []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "registry"}}
	for name, tt := range map[string]struct {
		listed  []v1.PropagatedObject
		partial bool
		app     types.UID
		known   int
	}{
		"the same":            {listed, false, "u-1", 1},
		"and perhaps more":    {listed, true, "u-1", 1},
		"what is not known":   {nil, true, "u-1", 1},
		"none":                {nil, false, "u-1", 0},
		"another application": {listed, false, "u-2", 0},
	} {
		s := New(clock.RealClock{})
		s.ListSources(key(), "u-1", listed, false)
		s.SetSources(key(), Sources{App: "u-1", All: []Source{{PropagatedObject: listed[0], Version: "1"}}})
		got := s.ListSources(key(), tt.app, tt.listed, tt.partial)
		if diff := cmp.Diff(tt.listed, got.Listed); diff != "" || len(got.All) != tt.known || got.Partial != tt.partial || got.App != tt.app {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestOfOneApplication checks that what was delivered, seen and said of an application is not of a later one of its name.
func TestOfOneApplication(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	app := shop(1, 1)
	s.Deliver(nil, app)
	s.ReplaceBackups(key(), aggregate.BackupSummary{App: "u-1"})
	later, edited := shop(1, 1), shop(2, 1)
	later.UID = "u-2"
	for name, tt := range map[string]struct {
		app  *v1.EcommerceApp
		want bool
	}{"this one": {app, true}, "a later one": {later, false}, "edited": {edited, false}} {
		if _, measured := s.Since(tt.app); measured != tt.want {
			t.Errorf("%s: measured: %t", name, measured)
		}
	}
	if s.Backups(key(), "u-1") == nil || s.Backups(key(), "u-2") != nil || s.Backups(types.NamespacedName{}, "u-1") != nil {
		t.Error("a report about backups is not found, or one of another application")
	}
	all := func(*v1.EcommerceApp) bool { return true }
	if got := s.Where(all); len(got) != 1 || len(s.Where(func(*v1.EcommerceApp) bool { return false })) > 0 {
		t.Errorf("delivered are %v", got)
	}
	if s.Withdraw(key()); len(s.Where(all)) > 0 {
		t.Error("what has ended is found")
	}
}

// TestStatusOfOneCopy checks that a status counts for the copy that it is about, and not for a later one.
func TestStatusOfOneCopy(t *testing.T) {
	t.Parallel()
	m := New(clock.RealClock{}).Connect("a", false)
	copied := func(uid types.UID, version string) *v1.EcommerceApp {
		app := shop(1, 1)
		app.UID, app.ResourceVersion = uid, version
		return app
	}
	m.SetStatus(copied("c-1", "5"))
	if m.SeeStatus(copied("c-2", "6")) || m.Status(copied("c-2", "5")) != nil || m.Status(copied("c-1", "5")) == nil {
		t.Error("the status of a copy is dropped or counted with another one")
	}
}
