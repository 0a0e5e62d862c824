package apply_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clocktesting "k8s.io/utils/clock/testing"

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
		// Another process has written it: the attempt to create it changes nothing, also if the content was known.
		before := get(t, s, intent)
		s.writes, s.reads = 0, 0
		do(t, applier(), apply.Request{Intent: intent, Owned: labelled}, apply.Unchanged)
		requests(1, 1)
		content, err := apply.Stamp(intent)
		if err != nil {
			t.Fatal(err)
		}
		do(t, applier(), apply.Request{Intent: intent, Content: content, Owned: labelled}, apply.Unchanged)
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

// testExpected checks that an object that was created a moment ago is not read although the cache lacks it: nothing
// is read until it is no longer expected. What was deleted meanwhile is created then.
func testExpected(s *server) func(*testing.T) {
	return func(t *testing.T) {
		now := clocktesting.NewFakePassiveClock(time.Unix(1, 0))
		a := apply.New(apply.Options{Client: s, Reader: s, FieldManager: "test", Clock: now})
		intent := configMap()
		intent.Name = "expected"
		request := apply.Request{Intent: intent, Owned: labelled, ExpectFor: time.Minute}
		do(t, a, request, apply.Created)
		s.writes, s.reads = 0, 0
		now.SetTime(now.Now().Add(59 * time.Second))
		result, err := a.Apply(t.Context(), request)
		if err != nil || result.Outcome != apply.Expected || result.Wait != time.Second {
			t.Errorf("outcome %q, wait %s and error %v, want %s and a second", result.Outcome, result.Wait, err, apply.Expected)
		}
		if s.writes+s.reads != 0 {
			t.Errorf("%d writes and %d reads of what is expected, want none", s.writes, s.reads)
		}
		// Callers that do not ask for it, and kinds without a cache, are told what there is.
		do(t, a, apply.Request{Intent: intent, Owned: labelled}, apply.Unchanged)
		do(t, a, apply.Request{Intent: intent, Uncached: true, Owned: labelled, ExpectFor: time.Minute}, apply.Unchanged)
		if err := s.Delete(t.Context(), get(t, s, intent)); err != nil {
			t.Fatal(err)
		}
		now.SetTime(now.Now().Add(time.Second))
		do(t, a, request, apply.Created)
		// Another intent is written whatever the cache has.
		intent.Data["x"] = "2"
		do(t, a, request, apply.Updated)
	}
}

// testRace creates the object as another client after it was read: an apply must not merge into what was not read,
// even if nothing in it differs.
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
