package copies

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/state"
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

// newMemory returns the memory of a connection without applications.
func newMemory(member string) *state.Member {
	return state.New(clock.RealClock{}).Connect(member, false)
}

// queueFleet is a dispatcher with queues that no worker runs, without API servers.
type queueFleet struct {
	*Dispatcher
	queues map[*MemberQueue]workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func newFleet(t *testing.T, members ...string) *queueFleet {
	t.Helper()
	f := &queueFleet{New(nil, Options{}), map[*MemberQueue]workqueue.TypedRateLimitingInterface[reconcile.Request]{}}
	for _, name := range members {
		f.connect(t.Context(), t, name)
	}
	return f
}

// connect adds the queue of a member until ctx is done.
func (f *queueFleet) connect(ctx context.Context, t *testing.T, name string) *MemberQueue {
	t.Helper()
	m := &MemberQueue{name: name, queue: &controller.Queue{}, state: f.state, memory: f.state.Connect(name, false)}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	if err := m.queue.Source().Start(ctx, q); err != nil {
		t.Fatal(err)
	}
	f.queues[m] = q
	f.Runner.Engage(ctx, multicluster.ClusterName(name), controller.Engagement[*MemberQueue]{Value: m, Cluster: &caches{}})
	return m
}

// handOver hands over what the status of an application says, and returns the members whose queues get a request.
func (f *queueFleet) handOver(app *v1.EcommerceApp) []string {
	f.HandOver(f.DecisionOf(app, &app.Status))
	var names []string
	for m, q := range f.queues {
		if q.Len() > 0 {
			names = append(names, m.name)
			request, _ := q.Get()
			q.Done(request)
		}
	}
	slices.Sort(names)
	return names
}

// act lets the queue of a member carry out its order.
func (f *queueFleet) act(name string) {
	m := f.Get(name)
	order := m.memory.Begin(key()).Order(name)
	m.memory.End(key(), &state.Result{App: "u-1", Hash: order.Hash, Applied: !order.Delete, Gone: order.Delete})
}

// TestObserveAbsence checks that an absence counts while the order is to delete the copy, and not for another order.
func TestObserveAbsence(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "a")
	m := f.Get("a")
	m.cluster = &caches{}
	leaving, back := shop(1, 1, "a"), shop(1, 1, "a")
	leaving.Status.Clusters[0].Phase = v1.PhaseDeleting
	gone := func(app *v1.EcommerceApp) bool {
		t.Helper()
		c := aggregate.Cluster{}
		if _, err := m.Observe(t.Context(), facts(app), &c); err != nil {
			t.Fatal(err)
		}
		return c.Gone
	}
	f.handOver(leaving)
	f.act("a")
	if !gone(leaving) {
		t.Error("a confirmed absence is not observed")
	}
	if gone(back) {
		t.Error("the absence outlives its entry")
	}
	f.handOver(back)
	f.handOver(leaving)
	if gone(leaving) {
		t.Error("an absence counts that was found before the application came back")
	}
}

// TestObserveEarlierFailure checks that a failure is about the order that was acted on, and waits for a user no
// longer when another order follows, as with an edit that corrects it.
func TestObserveEarlierFailure(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "a")
	m := f.Get("a")
	m.cluster = &caches{}
	first, edited := shop(1, 1, "a"), shop(2, 1, "a")
	failure := func(app *v1.EcommerceApp) *aggregate.Failure {
		t.Helper()
		c := aggregate.Cluster{}
		if _, err := m.Observe(t.Context(), facts(app), &c); err != nil {
			t.Fatal(err)
		}
		return c.Failure
	}
	f.handOver(first)
	order := m.memory.Begin(key()).Order("a")
	m.memory.End(key(), &state.Result{App: "u-1", Hash: order.Hash, Failure: &aggregate.Failure{Reason: v1.ReasonInvalidSpec}})
	if got := failure(first); got == nil || !got.NeedsIntervention() {
		t.Errorf("the failure of the present order is %+v, want one that waits for a user", got)
	}
	f.handOver(edited)
	if got := failure(edited); got == nil || !got.Earlier || got.NeedsIntervention() {
		t.Errorf("the failure of an earlier order is %+v, want one that does not wait for a user", got)
	}
}

// TestBeside checks that a result about a copy wakes the queue that writes propagated objects if there are any, and
// that the result of that queue is observed after it.
func TestBeside(t *testing.T) {
	t.Parallel()
	m := newFleet(t, "a").Get("a")
	m.cluster, m.wake, m.beside = &caches{}, &controller.Queue{}, &controller.Queue{}
	m.options.Recorder = events.NewFakeRecorder(10)
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	if err := m.beside.Source().Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	app := shop(1, 1, "a")
	secret := []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "registry"}}
	conflict, refused := &aggregate.Failure{Reason: v1.ReasonConflict}, &aggregate.Failure{Reason: v1.ReasonUpgradeRefused}
	copied := []v1.PendingChange{{Kind: "EcommerceApp"}}
	beside := []v1.PendingChange{{Kind: "Secret"}}
	for name, tt := range map[string]struct {
		propagate []v1.PropagatedObject
		result    state.Result
		wakes     bool
		// observed is whether the result about what is beside the copy is.
		observed, remembered bool
		// copied is whether the member has the copy.
		copied bool
	}{
		"nothing is propagated": {nil, state.Result{Owner: &state.Owner{}}, false, false, false, false},
		"something is":          {secret, state.Result{Owner: &state.Owner{}, Pending: copied}, true, true, true, false},
		"something was":         {nil, state.Result{Owner: &state.Owner{Leftover: secret}}, true, true, true, false},
		"the copy failed":       {secret, state.Result{Failure: refused}, false, false, true, false},
		"an attempt ended":      {secret, state.Result{Failure: conflict}, false, true, true, true},
		"beside a refused one":  {secret, state.Result{Failure: refused, Owner: &state.Owner{Only: secret}}, true, true, true, false},
	} {
		app.Spec.Propagate = tt.propagate
		m.cluster = &caches{}
		if tt.copied {
			m.cluster = &caches{copied: shop(1, 1)}
		}
		d := facts(app)
		m.state.HandOver(d)
		m.memory.End(key(), &state.Result{App: app.UID, Hash: d.Orders["a"].Hash})
		known, _ := m.memory.Beside(key(), "copy", "")
		m.memory.EndBeside(key(), known, state.Result{App: app.UID, Hash: d.Orders["a"].Hash, Failure: conflict, Pending: beside}, false)
		task := m.taskOf(d)
		next := task.result()
		next.Owner, next.Pending, next.Failure = tt.result.Owner, tt.result.Pending, tt.result.Failure
		m.conclude(controller.RequestFor(app), task, next)
		if wakes := q.Len() > 0; wakes != tt.wakes {
			t.Errorf("%s: wakes %t", name, wakes)
		} else if wakes {
			request, _ := q.Get()
			q.Done(request)
		}
		c := aggregate.Cluster{}
		if _, err := m.Observe(t.Context(), d, &c); err != nil {
			t.Fatal(err)
		}
		if observed := c.PropagationFailure != nil; observed != tt.observed || (c.Failure != nil) != (tt.result.Failure != nil) || observed != (len(c.Pending) == len(tt.result.Pending)+1) {
			t.Errorf("%s: observed %+v and %+v, pending %v", name, c.Failure, c.PropagationFailure, c.Pending)
		}
		if remembered := m.memory.BesideResult(key(), app.UID).Failure != nil; remembered != tt.remembered {
			t.Errorf("%s: remembered %t", name, remembered)
		}
	}
}

// TestRequestsOfAMemberThatReturns checks that an application that was decided while the member was not connected is
// among the first requests of its queue.
func TestRequestsOfAMemberThatReturns(t *testing.T) {
	t.Parallel()
	d := newFleet(t)
	d.handOver(shop(1, 1, "a"))
	pending, others, err := d.requests(t.Context(), "a")
	if diff := cmp.Diff([]reconcile.Request{controller.RequestFor(shop(1, 1))}, pending); diff != "" || len(others) > 0 || err != nil {
		t.Errorf("requests (-want +got), %v, %v:\n%s", others, err, diff)
	}
}

// TestFormerMembers checks that the queue of a member that is left drops its result.
func TestFormerMembers(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "left", "other", "stays")
	if diff := cmp.Diff([]string{"left", "stays"}, f.handOver(shop(1, 1, "stays", "left"))); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	f.act("left")
	f.act("stays")
	if diff := cmp.Diff([]string{"left"}, f.handOver(shop(1, 1, "stays"))); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestFailedConnection checks that a queue that goes on after another connection to its member has failed gets what
// was handed over to that one.
func TestFailedConnection(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "a")
	f.handOver(shop(1, 1, "a"))
	f.act("a")
	ctx, fail := context.WithCancel(t.Context())
	next := f.connect(ctx, t, "a")
	edited := shop(2, 1, "a")
	if f.handOver(edited); f.Get("a") != next {
		t.Fatal("the new connection does not count")
	}
	fail()
	next.memory.Close()
	want := []string{"a"}
	for range 2 {
		if diff := cmp.Diff(want, f.handOver(edited)); diff != "" {
			t.Errorf("requests of the one that goes on (-want +got):\n%s", diff)
		}
	}
	f.act("a")
	if got := f.handOver(edited); len(got) > 0 {
		t.Errorf("requests after it has acted: %v", got)
	}
}

// TestForgetWakes checks that a queue that waits for the first pass over an application is woken: what an earlier one
// of the name left behind is due.
func TestForgetWakes(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "a", "b")
	f.state.Await(key(), "a", true)
	f.Forget(key())
	if a, b := f.queues[f.Get("a")].Len(), f.queues[f.Get("b")].Len(); a != 1 || b != 0 {
		t.Errorf("%d and %d requests, want one of the queue that waits", a, b)
	}
}

// endingHub is the cache of a hub that reads an application which ends at once.
type endingHub struct {
	client.Reader
	forget func()
}

// Get reads the application.
func (h endingHub) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	h.forget()
	return nil
}

// TestForgetWakesWhoRead checks that a queue looks again at once if an application that it has read is forgotten before
// it waits for the first pass, which does not come.
func TestForgetWakesWhoRead(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "a")
	m := f.Get("a")
	m.hub = endingHub{forget: func() { f.Forget(key()) }}
	if _, err := m.awaitsDecision(t.Context(), key()); err != nil || f.queues[m].Len() != 1 {
		t.Errorf("%d requests, %v, want one", f.queues[m].Len(), err)
	}
	if again := f.state.Forget(key()); len(again) > 0 {
		t.Errorf("%v wait for an application that was forgotten", again)
	}
}

// TestForgetLeavesNothing checks that the queues of members keep nothing of an application that does not exist any more.
func TestForgetLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "a")
	m := f.Get("a")
	m.memory.Ask(key(), "u-1")
	m.memory.Beside(key(), "c-1", "")
	f.handOver(shop(1, 1, "a"))
	f.act("a")
	f.Forget(key())
	_, known := m.memory.Result(key(), "u-1")
	m.memory.SeeBeside(key(), v1.PropagatedObject{}, state.Deleted)
	if known || m.memory.Asked(key()) != "" || f.state.Decision(key()) != nil {
		t.Error("something is left")
	}
}
