package apply_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/shopfleet/shopfleet/spoke/apply"
)

// testMissing creates objects that the cache does not have: with one request if the API server
// does not have them either, and otherwise by a decision on what it has.
func testMissing(s *server, name string, applier func() *apply.Applier) func(*testing.T) {
	return func(t *testing.T) {
		requests := func(writes, reads int) {
			t.Helper()
			if s.writes != writes || s.reads != reads {
				t.Errorf("%d writes and %d reads, want %d and %d", s.writes, s.reads, writes, reads)
			}
			s.writes, s.reads = 0, 0
		}
		a := applier()
		intent := configMap()
		intent.Name = name
		s.writes, s.reads = 0, 0
		if result, err := a.Apply(t.Context(), apply.Request{Intent: intent, Owned: labelled}); err != nil || result.Outcome != apply.Created {
			t.Fatalf("outcome %q and error %v, want %s", result.Outcome, err, apply.Created)
		}
		requests(1, 0)
		// The cache is behind the own write.
		do(t, a, apply.Request{Intent: intent, Owned: labelled}, apply.Unchanged)
		requests(0, 1)
		// Another process has written it: the attempt to create it changes nothing.
		before := get(t, s, intent)
		s.writes, s.reads = 0, 0
		do(t, applier(), apply.Request{Intent: intent, Owned: labelled}, apply.Unchanged)
		requests(1, 1)
		if diff := cmp.Diff(before, get(t, s, intent)); diff != "" {
			t.Errorf("an object that exists was changed (-before +after):\n%s", diff)
		}
		// Without a cache nothing is tried before the read.
		s.writes, s.reads = 0, 0
		do(t, applier(), apply.Request{Intent: intent, Uncached: true, Owned: labelled}, apply.Unchanged)
		requests(0, 1)
		// It differs, and is written over the version that was read.
		before.Data["x"] = "theirs"
		if err := s.Update(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		do(t, applier(), apply.Request{Intent: intent, Owned: labelled}, apply.Updated)
		if got := get(t, s, intent).Data["x"]; got != "1" {
			t.Errorf("x is %q, want that of the intent", got)
		}
	}
}

// testRace has someone else create the object after it was read: an apply must not merge into
// what was not read, even if nothing in it differs.
func testRace(s *server) func(*testing.T) {
	return func(t *testing.T) {
		for name, x := range map[string]string{"race": "theirs", "race-of-equals": "1"} {
			a := s.applier()
			intent := configMap()
			intent.Name = name
			do(t, a, apply.Request{Intent: intent, Owned: labelled}, apply.Created)
			if err := s.Delete(t.Context(), get(t, s, intent)); err != nil {
				t.Fatal(err)
			}
			theirs := configMap()
			theirs.Name, theirs.Data["x"] = name, x
			s.before = func() {
				if err := s.Create(t.Context(), theirs); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := a.Apply(t.Context(), apply.Request{Intent: intent, Owned: labelled}); !apierrors.IsConflict(err) {
				t.Errorf("got %v, want a conflict", err)
			}
			if got := get(t, s, intent).Data["x"]; got != x {
				t.Errorf("x is %q: the race was won with force", got)
			}
		}
	}
}
