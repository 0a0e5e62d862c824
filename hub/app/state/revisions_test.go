package state

import (
	"testing"

	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestRevisionsEndWithTheirApplication checks that a pass that reads revisions while, or after, the application ends
// leaves nothing in memory.
func TestRevisionsEndWithTheirApplication(t *testing.T) {
	t.Parallel()
	s := New(clock.RealClock{})
	app, anew := shop(1, 1), shop(1, 1)
	anew.UID = "u-2"
	expect := func(what string, app *v1.EcommerceApp, want bool) {
		t.Helper()
		if got := s.Revision(app, 2); (got != nil) != want {
			t.Errorf("%s: remembers %q", what, got)
		}
	}
	s.KeepRevision(app, 2, []byte("{}"))
	if len(s.apps) > 0 {
		t.Error("an application that was not delivered is remembered")
	}
	s.Deliver(nil, app)
	s.KeepRevision(app, 2, []byte("{}"))
	s.Deliver(app, app)
	expect("while the application exists", app, true)
	expect("of another application of the name", anew, false)
	s.Deliver(app, anew)
	expect("of a former application", app, false)
	expect("of the application that follows", anew, false)
	s.KeepRevision(app, 2, []byte("{}"))
	expect("read by a pass over the former application", anew, false)
	s.KeepRevision(anew, 2, []byte("{}"))
	s.KeepRevisions(key(), []int64{1, 2})
	expect("a cluster has it", anew, true)
	s.KeepRevisions(key(), []int64{1})
	expect("no cluster has it any more", anew, false)
	s.KeepRevision(anew, 2, []byte("{}"))
	s.Withdraw(key())
	expect("of an application that has ended", anew, false)
	s.Forget(key())
	s.KeepRevision(anew, 2, []byte("{}"))
	if len(s.apps) > 0 {
		t.Error("an application that is gone is remembered again")
	}
}
