package copies

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/propagate"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// TestRemaining checks that a copy does not list pruned objects, and that another copy has all objects that it lists.
func TestRemaining(t *testing.T) {
	t.Parallel()
	l := newFleet(t, "a").Get("a")
	app := shop(1, 1, "a")
	l.state.HandOver(facts(app))
	l.memory.End(keyOf(app), &state.Result{App: app.UID})
	kept, removed := v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "kept"}, v1.PropagatedObject{Kind: v1.PropagatedConfigMap, Name: "removed"}
	app.Spec.Propagate = []v1.PropagatedObject{kept}
	live := app.DeepCopy()
	live.UID = "copy"
	live.Annotations = map[string]string{v1.PropagatedAnnotation: propagate.Record(kept, removed)}
	if diff := cmp.Diff([]v1.PropagatedObject{removed}, l.remaining(app, live)); diff != "" {
		t.Errorf("before it is pruned (-want +got):\n%s", diff)
	}
	objects, _ := l.memory.Beside(keyOf(app), live.UID, "")
	objects.Pruned[removed] = true
	l.memory.EndBeside(keyOf(app), objects, state.Result{}, false)
	if left := l.remaining(app, live); len(left) > 0 {
		t.Errorf("after it was pruned: %v remains", left)
	}
	live.UID = "other"
	if left := l.remaining(app, live); len(left) != 1 {
		t.Errorf("another copy: %v remains, want what it lists", left)
	}
}
