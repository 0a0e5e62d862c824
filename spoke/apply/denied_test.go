package apply

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestDeniedUntilTheFirstField checks that a repair of several contended fields may be made when one of them may be
// written again.
func TestDeniedUntilTheFirstField(t *testing.T) {
	t.Parallel()
	began := time.Unix(1e9, 0)
	r := &repairs{objects: map[component.Key]*repairedObject{}}
	for range repairLimit {
		r.note(repair{fields: []string{"x"}}, began)
		r.note(repair{fields: []string{"y"}}, began.Add(2*time.Minute))
	}
	fields, wait := r.denied(repair{fields: []string{"x", "y"}}, began.Add(3*time.Minute))
	if len(fields) != 2 || wait != RepairWindow-3*time.Minute {
		t.Errorf("%v wait %s, want what x waits", fields, wait)
	}
	if fields, wait = r.denied(repair{fields: []string{"x", "z"}}, began.Add(3*time.Minute)); fields != nil {
		t.Errorf("%v wait %s although z may be written", fields, wait)
	}
}

// TestRepairs checks that something may be written often at first and then once in a window, and that what was long ago
// does not count.
func TestRepairs(t *testing.T) {
	t.Parallel()
	began := time.Unix(1e9, 0)
	r := Repairs{}
	for i := range repairLimit {
		if wait := r.Wait(began, RepairWindow); wait != 0 || r.Count != i {
			t.Errorf("repair %d waits %s", i, wait)
		}
		r = r.Next(began, RepairWindow)
	}
	for after, want := range map[time.Duration]time.Duration{0: RepairWindow, time.Minute: RepairWindow - time.Minute, RepairWindow: 0, RepairWindow + time.Second: 0} {
		if got := r.Wait(began.Add(after), RepairWindow); got != want {
			t.Errorf("after %s the next one waits %s, want %s", after, got, want)
		}
	}
	for after, want := range map[time.Duration]int{RepairWindow: repairLimit + 1, 2*RepairWindow - 1: repairLimit + 1, 2 * RepairWindow: 1} {
		if got := r.Next(began.Add(after), RepairWindow); got.Count != want || !got.Last.Equal(began.Add(after)) {
			t.Errorf("after %s it counts %d, want %d", after, got.Count, want)
		}
	}
}

// TestRepairsExpire checks that repairs count for one intent of an object, and are forgotten after a while.
func TestRepairsExpire(t *testing.T) {
	t.Parallel()
	began := time.Unix(1e9, 0)
	one, other := component.Key{Name: "one"}, component.Key{Name: "other"}
	r := &repairs{objects: map[component.Key]*repairedObject{}}
	for range repairLimit {
		r.note(repair{key: one, intent: "1", fields: []string{"x"}}, began)
	}
	r.note(repair{key: other, fields: []string{"x"}}, began.Add(RepairWindow))
	for name, next := range map[string]repair{
		"another intent": {key: one, intent: "2", fields: []string{"x"}}, "another object": {key: other, fields: []string{"x"}}, "no field": {key: one, intent: "1"},
		"an object that was not repaired": {key: component.Key{Name: "new"}, fields: []string{"x"}},
	} {
		if fields, wait := r.denied(next, began); len(fields) > 0 || wait != 0 {
			t.Errorf("%s: %v wait %s", name, fields, wait)
		}
	}
	for _, step := range []struct {
		after time.Duration
		known int
	}{{0, 2}, {RepairWindow, 2}, {2*RepairWindow - time.Second, 2}, {2 * RepairWindow, 1}, {3 * RepairWindow, 0}} {
		if r.expire(began.Add(step.after)); len(r.objects) != step.known {
			t.Errorf("after %s, %d objects are known, want %d", step.after, len(r.objects), step.known)
		}
	}
	r.note(repair{key: one, intent: "1", fields: []string{"x"}}, began)
	if r.note(repair{key: one, intent: "2", fields: []string{"y"}}, began); len(r.objects[one].fields) != 1 {
		t.Errorf("another intent begins with %v", r.objects[one].fields)
	}
}

// TestAdmit checks that the error of a field that was repaired too often names who changes it, if that can be read.
func TestAdmit(t *testing.T) {
	t.Parallel()
	denied := errors.New("denied")
	changed := stored(t, "2", "8")
	changed.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "gitops", Operation: metav1.ManagedFieldsOperationUpdate}})
	for name, tt := range map[string]struct {
		server  *readOnly
		manager string
		want    error
	}{"named": {&readOnly{live: changed}, "gitops", nil}, "gone": {&readOnly{}, "", nil}, "not known": {&readOnly{err: denied}, "", denied}} {
		a, made := tt.server.applier(), repair{intent: "1", fields: []string{"data.a"}}
		if err := a.admit(t.Context(), intended(t, "1"), made); err != nil || tt.server.reads > 0 {
			t.Errorf("%s: the first repair: %v", name, err)
		}
		for range repairLimit {
			a.noteRepair(made)
		}
		err := a.admit(t.Context(), intended(t, "1"), made)
		contended, ok := errors.AsType[*ContendedError](err)
		if ok != (tt.want == nil) || !ok && !errors.Is(err, tt.want) || ok && (contended.Manager != tt.manager || contended.Scales || contended.RetryIn != RepairWindow) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
