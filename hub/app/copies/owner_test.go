package copies

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/propagate"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/apply"
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

// TestOwnerAfter checks beside which copies objects are written: those that an attempt wrote or found as they should be,
// and one that a pause keeps from being created.
func TestOwnerAfter(t *testing.T) {
	t.Parallel()
	app := shop(1, 1, "a")
	mine, stranger, ending := app.DeepCopy(), app.DeepCopy(), app.DeepCopy()
	mine.UID, stranger.UID, ending.UID = "mine", "stranger", "ending"
	mine.Annotations = map[string]string{v1.HubAppUIDAnnotation: string(app.UID)}
	ending.Annotations, ending.DeletionTimestamp = mine.Annotations, &metav1.Time{}
	answer := &unstructured.Unstructured{}
	answer.SetUID("created")
	for name, tt := range map[string]struct {
		live   *v1.EcommerceApp
		paused bool
		result apply.Result
		want   *state.Owner
	}{
		"unchanged":           {mine, false, apply.Result{Outcome: apply.Unchanged}, &state.Owner{UID: "mine"}},
		"adopted":             {stranger, false, apply.Result{Outcome: apply.Updated}, &state.Owner{UID: "stranger"}},
		"created":             {nil, false, apply.Result{Outcome: apply.Created, Object: answer}, &state.Owner{UID: "created", Created: true}},
		"yet to be seen":      {nil, false, apply.Result{Outcome: apply.Expected}, nil},
		"being deleted":       {ending, false, apply.Result{Outcome: apply.Unchanged}, nil},
		"found so":            {mine, false, apply.Result{Outcome: apply.Terminating}, nil},
		"paused":              {mine, true, apply.Result{}, &state.Owner{UID: "mine", ReadOnly: true}},
		"paused, of others":   {stranger, true, apply.Result{}, nil},
		"paused, not there":   {nil, true, apply.Result{}, &state.Owner{ReadOnly: true}},
		"paused, and it ends": {ending, true, apply.Result{}, nil},
	} {
		m := &MemberQueue{paused: tt.paused}
		if diff := cmp.Diff(tt.want, m.ownerAfter(app, tt.live, tt.result)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// testRefused checks that the objects that a copy lists are written on while the copy itself is refused, by the hub or by
// the member, and that no others are, nor are any deleted.
func testRefused(t *testing.T, m *member) {
	t.Helper()
	listed, other := v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "listed"}, v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "other"}
	former := v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "former"}
	m.app.Spec.Propagate = []v1.PropagatedObject{listed, former}
	m.reconcile(t)
	m.cached = m.live(t)
	spec := m.app.Spec
	for name, refuse := range map[string]func(*v1.EcommerceAppSpec){
		"by the hub": func(s *v1.EcommerceAppSpec) {
			s.Overrides = []v1.Override{{JSONPatches: []v1.JSONPatch{{Op: "remove", Path: "/none"}}}}
		},
		"by the member": func(s *v1.EcommerceAppSpec) { s.Replicas = new(int32(-1)) },
	} {
		for _, tt := range []struct{ propagate, want []v1.PropagatedObject }{
			{[]v1.PropagatedObject{other, listed}, []v1.PropagatedObject{listed}}, {[]v1.PropagatedObject{other}, nil}, {},
		} {
			m.app.Generation++
			m.app.Spec = *spec.DeepCopy()
			m.app.Spec.Propagate = tt.propagate
			refuse(&m.app.Spec)
			m.reconcile(t)
			found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID)
			if found.Failure == nil || found.Failure.Reason != v1.ReasonInvalidSpec || found.Applied {
				t.Fatalf("%s: reported %+v, want that the copy is refused", name, found.Failure)
			}
			var want *state.Owner
			if tt.want != nil {
				want = &state.Owner{UID: m.cached.UID, Only: tt.want}
			}
			if diff := cmp.Diff(want, found.Owner); diff != "" {
				t.Errorf("%s: objects may be written beside (-want +got):\n%s", name, diff)
			}
		}
	}
}
