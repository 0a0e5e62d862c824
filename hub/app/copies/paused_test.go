package copies

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// pausedMember is a member that is paused and whose cache reports deletions when a test says so.
type pausedMember struct {
	member
	informers *informertest.FakeInformers
}

// pausedFleet is a fleet whose members are paused.
type pausedFleet struct{ agentless }

func (pausedFleet) Paused(string) bool { return true }

// GetCache returns the informers.
func (m *pausedMember) GetCache() cache.Cache { return m.informers }

// TestHeldStatusesEndWithTheirCopies checks that what is held of a copy is reported, and forgotten with the copy,
// also if its reconciler hands the status over later.
func TestHeldStatusesEndWithTheirCopies(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	m := &pausedMember{informers: &informertest.FakeInformers{Scheme: scheme}, member: member{app: shop(1, 1, "a")}}
	d := New(&m.member, Options{Fleet: pausedFleet{}})
	if err := d.Engage(t.Context(), "a", m); err != nil {
		t.Fatal(err)
	}
	queue := d.Get("a")
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	if err := queue.copies().Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	informer, err := m.informers.FakeInformerFor(t.Context(), &v1.EcommerceApp{})
	if err != nil {
		t.Fatal(err)
	}
	first, second := copyWithStatus(m.app.UID, "c-1"), copyWithStatus(m.app.UID, "c-2")
	holds := func(what string, want int) {
		t.Helper()
		got := 0
		for _, copied := range []*v1.EcommerceApp{first, second} {
			if queue.memory.Status(copied) != nil {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %d statuses are held, want %d", what, got, want)
		}
	}

	m.cached = first.DeepCopy()
	m.cached.Status = v1.EcommerceAppStatus{}
	d.ObserveStatus(t.Context(), "a", first)
	d.HandOver(d.DecisionOf(m.app, &m.app.Status))
	queue.memory.End(key(), &state.Result{App: m.app.UID})
	observed := aggregate.Cluster{}
	if _, err := queue.Observe(t.Context(), facts(m.app), &observed); err != nil || observed.Copy == nil || observed.Copy.Status.Message != "c-1" {
		t.Errorf("observed %+v, %v, want the status that is held", observed.Copy, err)
	}
	holds("a copy", 1)
	m.cached = nil
	informer.Delete(first)
	holds("its deletion", 0)
	d.ObserveStatus(t.Context(), "a", first)
	holds("a status that comes later", 0)
	m.cached = second
	d.ObserveStatus(t.Context(), "a", first)
	holds("a status that comes later than another copy", 0)
	d.ObserveStatus(t.Context(), "a", second)
	holds("another copy", 1)
}

// copyWithStatus returns a copy of an application, whose message is its UID.
func copyWithStatus(app, uid types.UID) *v1.EcommerceApp {
	copied := shop(1, 0)
	copied.UID, copied.Status.Message = uid, string(uid)
	copied.Annotations = map[string]string{v1.HubAppUIDAnnotation: string(app)}
	copied.Labels = map[string]string{v1.ManagedByLabel: v1.ManagedBy}
	return copied
}
