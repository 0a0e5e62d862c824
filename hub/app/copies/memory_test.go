package copies

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

func key() types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: "shop"} }

// shop makes an application with entries for members.
func shop(generation, observed int64, members ...string) *v1.EcommerceApp {
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop", UID: "u-1", Generation: generation}}
	app.Status.ObservedGeneration = observed
	for _, m := range members {
		app.Status.Clusters = append(app.Status.Clusters, v1.ClusterStatus{Name: m})
	}
	return app
}

// TestReportsProveAbsenceOnlyAtRest is about the one way to lose track of a copy:
// to believe in an absence while the queue is writing the copy again.
func TestReportsProveAbsenceOnlyAtRest(t *testing.T) {
	t.Parallel()
	r := newReports()
	if _, known := r.about(key(), "u-1"); known {
		t.Error("a new queue knows something")
	}
	r.begin(key())
	if _, news := r.end(key(), &report{app: "u-1", gone: true}); !news {
		t.Error("an absence is no news")
	}
	if found, _ := r.about(key(), "u-1"); !found.gone {
		t.Error("a confirmed absence is not known")
	}
	if _, known := r.about(key(), "u-2"); known {
		t.Error("a report about another application of the same name counts")
	}
	r.begin(key())
	if found, _ := r.about(key(), "u-1"); found.gone {
		t.Error("an absence counts although the queue is at work")
	}
	// The same result again is news: no reconciler ran meanwhile.
	if _, news := r.end(key(), &report{app: "u-1", gone: true}); !news {
		t.Error("an absence that became visible again is no news")
	}
	r.begin(key())
	if _, news := r.end(key(), nil); !news {
		t.Error("that nothing is known any more is no news")
	}
}

// TestConfirmedOnlyAtRest: a reconciler that asks while a worker is busy learns when it no longer
// is. It read the last change of the copy, so nothing else would reconcile the application again.
func TestConfirmedOnlyAtRest(t *testing.T) {
	t.Parallel()
	applied := &report{app: "u-1", applied: true}
	r := newReports()
	r.begin(key())
	if _, news := r.end(key(), applied); !news || !r.confirmed(key(), "u-1") || r.confirmed(key(), "u-2") {
		t.Error("a copy that was applied is not confirmed, or no news, or that of another application")
	}
	r.begin(key())
	if r.confirmed(key(), "u-1") {
		t.Error("a copy is confirmed although the queue is at work")
	}
	if _, news := r.end(key(), applied); !news || !r.confirmed(key(), "u-1") {
		t.Error("that the copy is confirmed is no news to the reconciler that was told that it is not")
	}
	r.begin(key())
	if _, news := r.end(key(), applied); news {
		t.Error("the same result is news although no reconciler asked")
	}
}

// TestAbsenceEndsWithItsEntry leaves a member, chooses it again and leaves it again before
// the member's queue has begun: the absence of the first time must not drop the entry of
// the second.
func TestAbsenceEndsWithItsEntry(t *testing.T) {
	t.Parallel()
	gone := &report{app: "u-1", gone: true}
	tests := map[string]func(*reports){
		"found before": func(r *reports) {
			r.begin(key())
			r.end(key(), gone)
			r.forgetAbsence(key())
		},
		"found by a worker that had read the former entry": func(r *reports) {
			r.begin(key())
			r.forgetAbsence(key())
			r.end(key(), gone)
		},
	}
	for name, act := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReports()
			act(r)
			if found, known := r.about(key(), "u-1"); known {
				t.Errorf("the report %+v outlives its entry", found)
			}
			r.begin(key())
			r.end(key(), gone)
			if found, _ := r.about(key(), "u-1"); !found.gone {
				t.Error("an absence that is found later is not known")
			}
		})
	}
}

// TestObserveForgetsAbsence reads an application that a member runs again.
func TestObserveForgetsAbsence(t *testing.T) {
	t.Parallel()
	m := &MemberQueue{name: "a", reports: newReports()}
	m.reports.begin(key())
	m.reports.end(key(), &report{app: "u-1", gone: true})
	known, err := m.Observe(t.Context(), shop(1, 1, "a"), &aggregate.Cluster{})
	if known || err != nil {
		t.Errorf("known %t, %v; want a report that is made later", known, err)
	}
	if found, _ := m.reports.about(key(), "u-1"); found.gone {
		t.Error("the absence outlives its entry")
	}
}

// cacheBehind is a hub's cache with an application as it was before the last write.
type cacheBehind struct {
	client.Reader
	app *v1.EcommerceApp
}

func (c cacheBehind) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	into.(*v1.EcommerceAppList).Items = []v1.EcommerceApp{*c.app}
	return nil
}

// TestRequestsOfAMemberThatReturns: an application that was placed while the member was not
// engaged is among the first requests of its queue, also before the hub's cache has the placement.
func TestRequestsOfAMemberThatReturns(t *testing.T) {
	t.Parallel()
	before, placed := shop(1, 1), shop(1, 1, "a")
	before.ResourceVersion, placed.ResourceVersion = "1", "2"
	d := New(cacheBehind{app: before}, Options{})
	d.Written(placed, before.ResourceVersion)
	d.Dispatch(placed)
	pending, others, err := d.requests(t.Context(), "a")
	if diff := cmp.Diff([]reconcile.Request{requestFor(placed)}, pending); diff != "" || len(others) > 0 || err != nil {
		t.Errorf("requests (-want +got), %v, %v:\n%s", others, err, diff)
	}
}

// TestDispatchToFormerMembers: the queue of a member that is left drops its report.
func TestDispatchToFormerMembers(t *testing.T) {
	t.Parallel()
	d := New(nil, Options{})
	for _, name := range []string{"stays", "left", "other"} {
		m := &MemberQueue{name: name, queue: &controller.Queue{}}
		d.Runner.Engage(t.Context(), multicluster.ClusterName(name), controller.Engagement[*MemberQueue]{Value: m})
	}
	d.decisions.replace(shop(1, 1, "stays", "left"), "")
	d.Dispatch(shop(1, 1, "stays"))
	for name, want := range map[string]int{"stays": 0, "left": 1, "other": 0} {
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		if err := d.Get(name).queue.Source().Start(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if q.Len() != want {
			t.Errorf("%s: %d requests, want %d", name, q.Len(), want)
		}
		q.ShutDown()
	}
}

// connected returns a dispatcher with the queue of a member, without API servers.
func connected(t *testing.T, name string) (*Dispatcher, *MemberQueue) {
	t.Helper()
	d := New(nil, Options{})
	m := &MemberQueue{name: name, queue: &controller.Queue{}, reports: newReports(), lookups: newLookups(), propagated: newPropagated()}
	d.Runner.Engage(t.Context(), multicluster.ClusterName(name), controller.Engagement[*MemberQueue]{Value: m})
	return d, m
}

// TestForgetLeavesNothing of an application that does not exist any more in the queues of members.
func TestForgetLeavesNothing(t *testing.T) {
	t.Parallel()
	d, m := connected(t, "a")
	m.reports.end(key(), &report{app: "u-1", gone: true})
	m.lookups.ask(key(), "u-1")
	m.propagated.set(key(), propagatedObjects{copy: "c-1"})
	d.Dispatch(shop(1, 1, "a"))
	d.Forget(key())
	if left := len(m.reports.known) + len(m.lookups.known) + len(m.propagated.known) + len(d.decisions.known); left > 0 {
		t.Errorf("%d entries are left", left)
	}
}

// TestRecoveredConcernsAll: while the inventory was lost, the queues dropped their reports.
func TestRecoveredConcernsAll(t *testing.T) {
	t.Parallel()
	d, m := connected(t, "a")
	d.Dispatch(shop(1, 1, "a"))
	m.lookups.ask(key(), "u-1")
	d.Recovered(key())
	if diff := cmp.Diff([]string{"a"}, d.decisions.replace(shop(1, 1, "a"), "")); diff != "" || len(m.lookups.known) > 0 {
		t.Errorf("%d lookups are left; the next decision concerns (-want +got):\n%s", len(m.lookups.known), diff)
	}
}

func TestReportsTellNewsOnly(t *testing.T) {
	t.Parallel()
	r := newReports()
	failed := func() *report {
		return &report{app: "u-1", failure: &aggregate.Failure{Reason: v1.ReasonForbidden, Message: "no"}}
	}
	for i, step := range []struct {
		next *report
		want bool
	}{
		{&report{app: "u-1"}, true},
		{&report{app: "u-1"}, false},
		{failed(), true},
		{failed(), false},
		{&report{app: "u-1"}, true},
		{&report{app: "u-2"}, true},
		{nil, true},
		{nil, false},
	} {
		r.begin(key())
		if _, news := r.end(key(), step.next); news != step.want {
			t.Errorf("step %d: news %t, want %t", i, news, step.want)
		}
	}
}

func TestSightingsMeasureTheFanOutOfASpec(t *testing.T) {
	t.Parallel()
	c := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	s := newGenerations(c)
	since := func(app *v1.EcommerceApp) time.Duration {
		d, ok := s.since(app)
		if !ok {
			return -1
		}
		return d
	}
	s.see(nil, shop(1, 0))
	c.SetTime(time.Unix(1002, 0))
	s.see(shop(1, 0), shop(1, 1, "a", "b"))
	if got := since(shop(1, 1, "a", "b")); got != 2*time.Second {
		t.Errorf("creation: %s, want 2s", got)
	}
	// A member that joins an hour later is not slow.
	c.SetTime(time.Unix(4600, 0))
	s.see(shop(1, 1, "a", "b"), shop(1, 1, "a", "b", "c"))
	if got := since(shop(1, 1, "a", "b", "c")); got != -1 {
		t.Errorf("a change of the fleet counts as %s", got)
	}
	s.see(shop(1, 1, "a", "b", "c"), shop(2, 1, "a", "b", "c"))
	c.SetTime(time.Unix(4601, 0))
	if got := since(shop(2, 1, "a", "b", "c")); got != time.Second {
		t.Errorf("edit: %s, want 1s", got)
	}
	s.forget(key())
	if got := since(shop(2, 1)); got != -1 {
		t.Errorf("forgotten, and still %s", got)
	}
}
