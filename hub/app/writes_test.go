package app

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/copies"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// TestWrites runs the reconciler with a real API server.
func TestWrites(t *testing.T) {
	hub := fleettest.Start(t, fleet.Options{Hub: fleet.ClusterSpec{Name: "hub", APIServerOnly: true}}).Hub()
	scheme := runtime.NewScheme()
	if err := errors.Join(hub.ApplyFolder(t.Context(), "../../config/crd/bases"), v1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(hub.AdminConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]func(*testing.T, *writer){
		"progress waits":          testProgress,
		"one write in a second":   testPace,
		"statuses are locked":     testStatusLock,
		"finalizers of others":    testMetadataLock,
		"written ahead":           testWriteAhead,
		"one write of metadata":   testOneWrite,
		"handed over first":       testHandedOver,
		"gone meanwhile":          testGone,
		"conflicts are no errors": testConflict,
		"consent is withdrawn":    testConsent,
		"residue is recorded":     testResidue,
		"residue is full":         testResidueFull,
		"backups are let go":      testReleasedBackups,
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
			known := state.New(clock)
			w := &writer{clock: clock, Reconciler: &Reconciler{
				client: c, reader: c, state: known, dispatcher: copies.New(c, copies.Options{State: known}), clock: clock, recorder: events.NewFakeRecorder(100),
				revisions: revisions.New(c, c, known), progress: retry.NewProgress(progressPeriod),
			}}
			app := &v1.EcommerceApp{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "shop-"},
				Spec:       v1.EcommerceAppSpec{Image: "shop:v1"},
			}
			if err := c.Create(t.Context(), app); err != nil {
				t.Fatal(err)
			}
			w.key = client.ObjectKeyFromObject(app)
			test(t, w)
		})
	}
}

// progressPeriod is that of the reconcilers under test.
const progressPeriod = 5 * time.Second

// writer is a reconciler and its application.
type writer struct {
	*Reconciler
	clock *clocktesting.FakeClock
	key   client.ObjectKey
}

// stored reads the application.
func (w *writer) stored(t *testing.T) *v1.EcommerceApp {
	t.Helper()
	app := &v1.EcommerceApp{}
	if err := w.client.Get(t.Context(), w.key, app); err != nil {
		t.Fatal(err)
	}
	return app
}

// change changes the application as another client does.
func (w *writer) change(t *testing.T) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/hold"]}}`))
	if err := w.client.Patch(t.Context(), w.stored(t), patch); err != nil {
		t.Fatal(err)
	}
}

// status returns a status of the present, with a number of replicas.
func (w *writer) status(phase v1.Phase, replicas int32) v1.EcommerceAppStatus {
	now := metav1.NewTime(w.clock.Now())
	return v1.EcommerceAppStatus{Phase: phase, Replicas: replicas, LastUpdated: &now}
}

// testProgress checks that progress is written together, and other changes at once.
func testProgress(t *testing.T, w *writer) {
	t.Helper()
	app := w.stored(t)
	writes := 0
	report := func(phase v1.Phase, replicas int32) reconcile.Result {
		t.Helper()
		before := app.ResourceVersion
		result, err := w.writeStatus(t.Context(), app, &observation{}, w.status(phase, replicas))
		if err != nil {
			t.Fatal(err)
		}
		if app.ResourceVersion != before {
			writes++
		}
		return result
	}
	report(v1.PhaseCreating, 0)
	for step := range 4 {
		w.clock.Step(time.Second)
		if rest := report(v1.PhaseCreating, 1).RequeueAfter; rest != progressPeriod-time.Duration(step+1)*time.Second {
			t.Errorf("progress after %d s is written in %s", step+1, rest)
		}
	}
	if writes != 1 {
		t.Errorf("%d writes in %s, want that of the phase alone", writes, progressPeriod)
	}
	w.clock.Step(time.Second)
	report(v1.PhaseCreating, 1)
	if writes != 2 {
		t.Errorf("%d writes after %s, want another for the progress", writes, progressPeriod)
	}
	w.clock.Step(time.Second)
	report(v1.PhaseRunning, 1)
	if writes != 3 {
		t.Errorf("%d writes, want another for the phase", writes)
	}
}

// testConsent checks that the consent to leave data ends with the drain that it was given for, and not while the
// cache does not have the drain yet.
func testConsent(t *testing.T, w *writer) {
	t.Helper()
	members := []v1.MemberCluster{member("eu-1", metav1.ConditionTrue, v1.ReasonConnected), member("us-1", metav1.ConditionTrue, v1.ReasonConnected)}
	stored := members[0].DeepCopy()
	stored.Spec = v1.MemberClusterSpec{Scheduling: v1.SchedulingDrained}
	if err := w.client.Create(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	withdraw := func(want string) {
		t.Helper()
		app := w.stored(t)
		app.Spec.Database = &v1.Database{}
		app.Status.ObservedGeneration = app.Generation
		app.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1", Available: true}, {Name: "us-1", Available: true}}
		in := observation{Input: aggregate.Input{Previous: app.Status, Now: metav1.NewTime(w.clock.Now())}}
		w.decide(&in, app, members)
		if err := w.removeHandled(t.Context(), app, &in); err != nil {
			t.Fatal(err)
		}
		if got := w.stored(t).Annotations[v1.MoveEmptyAnnotation]; got != want {
			t.Errorf("the annotation is %q, want %q", got, want)
		}
	}
	patch := func(o client.Object, data string) {
		t.Helper()
		if err := w.client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(data))); err != nil {
			t.Fatal(err)
		}
	}
	patch(w.stored(t), `{"metadata":{"annotations":{"ecommerce.io/move-empty":"eu-1, asia-1"}}}`)
	withdraw("eu-1, asia-1")
	members[0].Spec.Scheduling = v1.SchedulingDrained
	withdraw("eu-1, asia-1")
	patch(stored, `{"spec":{"scheduling":"Enabled"}}`)
	withdraw("eu-1, asia-1")
	members[0].Spec.Scheduling = v1.SchedulingEnabled
	withdraw(" asia-1")
}

// testPace checks that an urgent change is written at once, and one that repeats within a second is written once.
func testPace(t *testing.T, w *writer) {
	t.Helper()
	app := w.stored(t)
	report := func(next v1.EcommerceAppStatus) (written bool, rest time.Duration) {
		t.Helper()
		before := app.ResourceVersion
		result, err := w.writeStatus(t.Context(), app, &observation{}, next)
		if err != nil {
			t.Fatal(err)
		}
		return app.ResourceVersion != before, result.RequeueAfter
	}
	if written, _ := report(w.status(v1.PhaseCreating, 0)); !written {
		t.Error("the first status waits")
	}
	for step, phase := range []v1.Phase{v1.PhaseRunning, v1.PhaseUnknown, v1.PhaseFailed} {
		if written, rest := report(w.status(phase, 0)); written || rest != statusPeriod-time.Duration(step)*100*time.Millisecond {
			t.Errorf("%s is written: %t, or in %s", phase, written, rest)
		}
		w.clock.Step(100 * time.Millisecond)
	}
	w.clock.Step(statusPeriod)
	if written, _ := report(w.status(v1.PhaseFailed, 0)); !written {
		t.Error("the change is not written after a second")
	}
}

// testStatusLock checks that a status that was computed from an older version is not written.
func testStatusLock(t *testing.T, w *writer) {
	t.Helper()
	app := w.stored(t)
	w.change(t)
	if _, err := w.writeStatus(t.Context(), app, &observation{}, w.status(v1.PhaseRunning, 1)); !apierrors.IsConflict(err) {
		t.Errorf("writing the status of an older version: %v, want a conflict", err)
	}
	if got := w.stored(t).Status.Phase; got == v1.PhaseRunning {
		t.Errorf("phase %s was computed from an older version, and written", got)
	}
}

// testMetadataLock checks that a patch replaces the list of finalizers as a whole.
func testMetadataLock(t *testing.T, w *writer) {
	t.Helper()
	app := w.stored(t)
	w.change(t)
	if _, err := w.writeAhead(t.Context(), app.DeepCopy(), app, inventoryOf("a")); !apierrors.IsConflict(err) {
		t.Errorf("adding the finalizer to an older version: %v, want a conflict", err)
	}
	if !controllerutil.ContainsFinalizer(w.stored(t), "example.com/hold") {
		t.Error("the finalizer of another controller is gone")
	}
}

// testConflict checks that a conflict is tried again, and is no error. It is not tried in the same pass, whose cache
// is still behind.
func testConflict(t *testing.T, w *writer) {
	t.Helper()
	old := w.stored(t)
	w.change(t)
	w.client = &outdated{Client: w.client, app: old}
	result, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.key})
	if err != nil || result.RequeueAfter == 0 || result.Priority == nil || *result.Priority != 0 {
		t.Errorf("result %+v, error %v; want another attempt soon, before what has low priority", result, err)
	}
}

// outdated reads an application from a cache that is behind, once.
type outdated struct {
	client.Client
	app  *v1.EcommerceApp
	read bool
}

// Get returns the application of the cache.
func (o *outdated) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if app, ok := into.(*v1.EcommerceApp); ok {
		if o.read {
			return errors.New("the application is read again in the same pass")
		}
		o.read = true
		o.app.DeepCopyInto(app)
	}
	return nil
}

// TestMembersThatLeave checks that the series of a member go when its MemberCluster is deleted, and the applications
// that it runs are enqueued.
func TestMembersThatLeave(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	metrics, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	c := New(nil, Options{Metrics: metrics})
	app := shop(1, "leaves")
	c.dispatcher.HandOver(c.dispatcher.DecisionOf(app, &app.Status))
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	for _, name := range []string{"leaves", "stays"} {
		metrics.fanout.WithLabelValues(name).Observe(1)
		after := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name == "leaves" {
			after.DeletionTimestamp = &metav1.Time{}
		}
		before := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		c.onMember().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
	}
	if q.Len() != 1 {
		t.Errorf("%d requests for the application that runs there, want 1", q.Len())
	}
	got := values(t, registry)
	if _, there := got["shopfleet_fanout_seconds/leaves"]; there {
		t.Error("the series of a member that leaves is there")
	}
	if _, there := got["shopfleet_fanout_seconds/stays"]; !there {
		t.Error("the series of a member that stays is gone")
	}
}
