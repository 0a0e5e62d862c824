package copies

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
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

// TestCopyChange checks which changes of a copy are listed: those of its spec but for the pause, and another restart.
func TestCopyChange(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1.EcommerceApp)
		want   []string
	}{
		"none":      {func(*v1.EcommerceApp) {}, nil},
		"the pause": {func(a *v1.EcommerceApp) { a.Spec.Paused = true }, nil},
		"an image":  {func(a *v1.EcommerceApp) { a.Spec.Image = "shop:v2" }, []string{"spec.image: shop:v1 -> shop:v2"}},
		"a restart": {func(a *v1.EcommerceApp) {
			a.Annotations = map[string]string{v1.RestartedAtAnnotation: "now"}
		}, []string{"metadata.annotations[" + v1.RestartedAtAnnotation + "]:  -> now"}},
		"both": {func(a *v1.EcommerceApp) {
			a.Spec.Image, a.Annotations = "shop:v2", map[string]string{v1.RestartedAtAnnotation: "now"}
		}, []string{"metadata.annotations[" + v1.RestartedAtAnnotation + "]:  -> now", "spec.image: shop:v1 -> shop:v2"}},
	} {
		live := shop(1, 1)
		live.Spec.Image = "shop:v1"
		intent := live.DeepCopy()
		tt.change(intent)
		got, err := copyChange(intent, live)
		var fields []string
		for _, change := range got {
			fields = append(fields, change.Fields...)
		}
		if diff := cmp.Diff(tt.want, fields); diff != "" || err != nil || len(got) > 1 {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// testHeld checks that nothing is written while an application is paused but the pause, and that it says what is held
// back.
func testHeld(t *testing.T, m *member) {
	t.Helper()
	pending := func(what string, want v1.PendingAction) {
		t.Helper()
		m.reconcile(t)
		found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID)
		var got v1.PendingAction
		if len(found.Pending) > 0 {
			got = found.Pending[0].Action
		}
		if got != want || found.Failure != nil || found.Applied == m.queue.paused && !m.app.Ending() && m.app.Status.Clusters[0].Phase == "" {
			t.Errorf("%s: %+v, %+v; want %q", what, found.Pending, found.Failure, want)
		}
	}
	m.app.Spec.Paused = true
	pending("no copy", v1.PendingCreate)
	m.app.Spec.Paused = false
	pending("running", "")
	m.cached = m.live(t)
	m.app.Spec.Paused, m.app.Spec.Image, m.app.Generation = true, "shop:v2", 2
	pending("an edit", v1.PendingUpdate)
	first := m.live(t)
	if !first.Spec.Paused || first.Spec.Image != "shop:v1" {
		t.Errorf("paused %t, image %s; want the pause alone", first.Spec.Paused, first.Spec.Image)
	}
	m.cached = first
	pending("an edit, again", v1.PendingUpdate)
	m.queue.managedBy = v1.ManagedByAgent
	pending("by another process", v1.PendingUpdate)
	second := m.live(t)
	if second.ManagedByMode() != v1.ManagedByAgent {
		t.Errorf("managed by %s", second.ManagedByMode())
	}
	m.cached = second
	m.app.Status.Clusters[0].Phase = v1.PhaseDeleting
	pending("leaving", v1.PendingDelete)
	m.cached = second.DeepCopy()
	m.cached.Labels, m.cached.Annotations = nil, nil
	pending("leaving one of others", "")
	m.cached = nil
	pending("leaving without a copy", "")
	m.cached, m.app.Status.Clusters[0].Phase = second, ""
	m.queue.paused, m.queue.managedBy = true, v1.ManagedByHub
	pending("a member that is paused", v1.PendingUpdate)
	m.app.DeletionTimestamp = &metav1.Time{}
	pending("an application that is deleted there", v1.PendingDelete)
	if live := m.live(t); live.ResourceVersion != second.ResourceVersion {
		t.Error("something was written in a member that is paused")
	}
	if _, err := m.queue.deleteCopy(t.Context(), removal{key: keyOf(m.app), owned: owned(m.app)}); !errors.Is(err, apierror.ErrPaused) {
		t.Errorf("deleting there: %v", err)
	}
}
